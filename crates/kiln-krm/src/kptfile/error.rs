//! Errors of invalid Kptfiles.

use kiln_go::quote;

use crate::record::DecodeError;

/// A package's Kptfile cannot be used. Displayed as kpt prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KptfileError {
    /// The package's path, as displayed.
    pub path: String,
    pub problem: KptfileProblem,
}

/// The problem with a Kptfile. Displayed as in a chain of causes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KptfileProblem {
    /// It does not exist. Holds the operating system's message.
    #[error("{0}")]
    Missing(String),
    /// It follows a schema that is no longer read.
    #[error("old resource version {} found in Kptfile", quote(.0))]
    Deprecated(String),
    #[error("unknown resource type {} found in Kptfile", quote(.0))]
    UnknownType(String),
    /// It has no document.
    #[error("EOF")]
    Empty,
    /// It has no type.
    #[error("missing Resource metadata")]
    NoMetadata,
    /// Its `apiVersion` has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
    #[error(transparent)]
    Yaml(#[from] kiln_yaml::Error),
    /// It has unknown keys or invalid values.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It could not be read. Holds the operating system's message.
    #[error("{0}")]
    Io(String),
}

impl KptfileError {
    /// The error as a link of the chain of causes that a render keeps in the Kptfile's status.
    pub fn chain_text(&self) -> String {
        let path = quote(&self.path);
        format!("error reading Kptfile at {path}: {}", self.problem)
    }

    /// kpt's message without `Error: `, for texts that begin in another way.
    pub fn message(&self) -> String {
        let path = quote(&self.path);
        match &self.problem {
            KptfileProblem::Missing(_) => format!("No Kptfile found at {path}."),
            KptfileProblem::Deprecated(version) => {
                let advice = match version.as_str() {
                    "v1alpha1" => {
                        "Please update the package to the latest format by following https://kpt.dev/installation/migration."
                    }
                    _ => {
                        "Please run \"kpt fn eval <PKG_PATH> -i ghcr.io/kptdev/krm-functions-catalog/fix:latest --include-meta-resources\" to upgrade the package and retry."
                    }
                };
                let version = quote(version);
                format!(
                    "Kptfile at {path} has an old version ({version}) of the Kptfile schema.\n{advice}"
                )
            }
            KptfileProblem::UnknownType(kind) => {
                let kind = quote(kind);
                format!("Kptfile at {path} has an unknown resource type ({kind}).")
            }
            problem => format!("Kptfile at {path} can't be read.\n\nDetails:\n{problem}"),
        }
    }
}

impl std::fmt::Display for KptfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Error: {}", self.message())
    }
}

impl std::error::Error for KptfileError {}
