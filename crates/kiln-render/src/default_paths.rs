//! The paths of resources that a function returned without one.

use kiln_krm::annotations::{self, LEGACY_PATH, PATH};
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::{Resource, paths};
use kiln_yaml::EditError;

use crate::options::RenderCompat;
use crate::restore::Returned;

/// Why a resource cannot have a path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DefaultPathError {
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Path(#[from] paths::PathError),
}

/// Sets the path of resources that have none.
pub(crate) fn set_default_paths(
    returned: &mut [Returned],
    inputs: &mut [Resource],
    directory: &str,
    compat: RenderCompat,
) -> Result<(), DefaultPathError> {
    let mut kptfile = match compat {
        RenderCompat::Kiln => lost_kptfile(returned, inputs),
        // The Kptfile becomes an ordinary file, and the directory is no longer a package.
        RenderCompat::Kpt => None,
    };
    for item in returned {
        let Some(resource) = item.resource_mut(inputs) else {
            continue;
        };
        annotations::mirror(resource)?;
        // What has an annotation has metadata.
        if resource.annotation(PATH).is_some() {
            continue;
        }
        if resource.meta().is_missing {
            return Err(paths::PathError::NoMetadata.into());
        }
        let kept = match resource.kind() {
            FILE_NAME => kptfile.take(),
            _ => None,
        };
        let path = kept.unwrap_or_else(|| paths::default_path(directory, resource.root()));
        for key in [PATH, LEGACY_PATH] {
            resource.set_annotation(key, &path)?;
        }
    }
    Ok(())
}

/// The path of the one Kptfile that a function returned without its path. Older functions drop all annotations.
fn lost_kptfile(returned: &[Returned], inputs: &[Resource]) -> Option<String> {
    let path = |resource: &Resource| {
        let annotated = [PATH, LEGACY_PATH].map(|key| resource.annotation(key));
        annotated.into_iter().flatten().next().map(str::to_owned)
    };
    let mut returned_paths = Vec::new();
    for item in returned {
        let resource = match item {
            Returned::New(resource) => resource,
            Returned::Kept(index) => inputs.get(*index)?,
        };
        if resource.kind() == FILE_NAME {
            returned_paths.push(path(resource));
        }
    }
    if returned_paths.iter().filter(|path| path.is_none()).count() != 1 {
        return None;
    }
    let kptfiles = inputs.iter().filter(|input| input.kind() == FILE_NAME);
    let mut lost = kptfiles
        .map(path)
        .filter(|path| !returned_paths.contains(path));
    let (first, other) = (lost.next()?, lost.next());
    first.filter(|_| other.is_none())
}
