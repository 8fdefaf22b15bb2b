//! Checks that a document is a KRM resource: it has an apiVersion, a kind and a name.
//!
//! Kustomize's own files are accepted, because packages contain them.

use std::fmt;

use kiln_yaml::NodeRef;

use crate::meta::{self, Meta};
use crate::paths;

/// What is missing in a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotKrm {
    /// It has neither type nor metadata.
    #[error("resource must have `apiVersion`, `kind`, and `name`")]
    Everything,
    #[error("resource must have `apiVersion`")]
    ApiVersion,
    #[error("resource must have `kind`")]
    Kind,
    #[error("resource must have `metadata.name`")]
    Name,
}

/// Which list is checked: the input or the output of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListKind {
    /// Before a function.
    Input,
    /// After a function.
    Output,
}

impl fmt::Display for ListKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ListKind::Input => "input",
            ListKind::Output => "output",
        })
    }
}

/// A list contains a document that is not a resource.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{list} resource list must contain only KRM resources: {path}: {lack}")]
pub struct ListNotKrm {
    pub list: ListKind,
    /// The path of the first one; empty if it has none.
    pub path: String,
    /// Its index in the file; empty if it has none.
    pub index: String,
    pub lack: NotKrm,
}

/// Checks one resource.
pub fn check_resource(resource: NodeRef<'_>) -> Result<(), NotKrm> {
    let meta = Meta::of(resource);
    let lack = if meta.is_missing {
        NotKrm::Everything
    } else if meta.api_version.is_empty() {
        NotKrm::ApiVersion
    } else if meta.kind.is_empty() {
        NotKrm::Kind
    } else if meta.name.is_empty() {
        NotKrm::Name
    } else {
        return Ok(());
    };
    match is_kustomization(resource) {
        true => Ok(()),
        false => Err(lack),
    }
}

/// Checks a list of resources; the first that fails is reported.
pub fn check_list<'a>(
    resources: impl IntoIterator<Item = NodeRef<'a>>,
    list: ListKind,
) -> Result<(), ListNotKrm> {
    for resource in resources {
        check_resource(resource).map_err(|lack| {
            let (path, index) = meta::file_place(resource);
            ListNotKrm {
                list,
                path: path.to_owned(),
                index: index.to_owned(),
                lack,
            }
        })?;
    }
    Ok(())
}

fn is_kustomization(resource: NodeRef<'_>) -> bool {
    let (path, _) = meta::file_place(resource);
    if matches!(
        paths::base(path),
        "kustomization.yaml" | "kustomization.yml" | "Kustomization"
    ) {
        return true;
    }
    let Meta {
        api_version, kind, ..
    } = Meta::of(resource);
    api_version.starts_with("kustomize.config.k8s.io")
        || (api_version.is_empty() && kind == "Kustomization")
}

#[cfg(test)]
mod tests;
