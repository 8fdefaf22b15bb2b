//! The package context of a package that is fetched for deployment.

use kiln_krm::EditableText;
use kiln_krm::check::{ListKind, ListNotKrm, check_list};
use kiln_krm::package::{ListOptions, PackageError, Subpackages, read_package};
use kiln_krm::read::FileOptions;
use kiln_krm::{Dialect, Resource};
use kiln_yaml::EditError;

use super::PkgRules;
use crate::contents::{Contents, ContentsError, PackagePath};
use crate::package_context::{FILE, abstract_text};

#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// kpt refuses a package with a YAML file that is not a resource.
    #[error(transparent)]
    NotKrm(#[from] ListNotKrm),
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error("{FILE}: {0}")]
    Edit(#[from] EditError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
}

/// Writes the name of a package into its package context.
pub fn set_deployment_context(
    contents: &mut Contents,
    name: &str,
    rules: PkgRules,
) -> Result<(), ContextError> {
    if rules == PkgRules::Kpt {
        let list = ListOptions::new(Dialect::Current, Subpackages::Include);
        let files = contents.to_files_below("");
        let resources = read_package(&files, &list, &FileOptions::default())?;
        check_list(resources.iter().map(Resource::root), ListKind::Input)?;
    }
    let present = contents.bytes(FILE).filter(|_| rules == PkgRules::Kiln);
    let text = present.map_or_else(|| abstract_text().into_bytes(), <[u8]>::to_vec);
    let new = match EditableText::read_resource(&text) {
        Some(mut editable) => {
            let mut root = editable.document_mut().root_mut();
            root.set_string(&["data", "name"], name)?;
            editable.changed().unwrap_or(text)
        }
        None => text,
    };
    let path = PackagePath::new(FILE).map_err(ContentsError::from)?;
    Ok(contents.write(path, &new)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_set_and_the_rest_stays() {
        let mut contents = Contents::new();
        let set = |contents: &mut Contents| {
            set_deployment_context(contents, "mine", PkgRules::Kiln).expect("it can be set");
            String::from_utf8_lossy(contents.bytes(FILE).expect("it was written")).into_owned()
        };
        assert!(set(&mut contents).ends_with("data:\n  name: mine\n"));
        let own = "kind: ConfigMap # c\ndata:\n  name: example\n  other: 1\n";
        contents.insert_text(FILE, own).expect("a good path");
        assert_eq!(set(&mut contents), own.replace("example", "mine"));
    }
}
