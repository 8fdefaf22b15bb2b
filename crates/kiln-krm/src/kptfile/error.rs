//! What is said about a Kptfile that cannot be used.

use kiln_go::quote;

use crate::record::DecodeError;

/// A package's Kptfile cannot be used. Displayed as kpt prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KptfileError {
    /// The package's path, as it is to be shown.
    pub path: String,
    /// What is wrong.
    pub problem: KptfileProblem,
}

/// What is wrong with a Kptfile. Displayed as it stands in a chain of causes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KptfileProblem {
    /// There is none. Holds the operating system's words.
    #[error("{0}")]
    Missing(String),
    /// It follows a schema that is no longer read.
    #[error("old resource version {} found in Kptfile", quote(.0))]
    Deprecated(String),
    /// It is of another type.
    #[error("unknown resource type {} found in Kptfile", quote(.0))]
    UnknownType(String),
    /// There is no document in it.
    #[error("EOF")]
    Empty,
    /// It says nothing about its type.
    #[error("missing Resource metadata")]
    NoMetadata,
    /// Its `apiVersion` has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
    /// It is not YAML.
    #[error(transparent)]
    Yaml(#[from] kiln_yaml::Error),
    /// It has keys or values that a Kptfile does not have.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It could not be read. Holds the operating system's words.
    #[error("{0}")]
    Io(String),
}

impl KptfileError {
    /// The error as a link of the chain of causes that a render keeps in the Kptfile's status.
    pub fn chain_text(&self) -> String {
        let path = quote(&self.path);
        format!("error reading Kptfile at {path}: {}", self.problem)
    }
}

impl std::fmt::Display for KptfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = quote(&self.path);
        match &self.problem {
            KptfileProblem::Missing(_) => write!(f, "Error: No Kptfile found at {path}."),
            KptfileProblem::Deprecated(version) => {
                let quoted = quote(version);
                writeln!(
                    f,
                    "Error: Kptfile at {path} has an old version ({quoted}) of the Kptfile schema."
                )?;
                f.write_str(match version.as_str() {
                    "v1alpha1" => "Please update the package to the latest format by following https://kpt.dev/installation/migration.",
                    _ => "Please run \"kpt fn eval <PKG_PATH> -i ghcr.io/kptdev/krm-functions-catalog/fix:latest --include-meta-resources\" to upgrade the package and retry.",
                })
            }
            KptfileProblem::UnknownType(kind) => {
                let kind = quote(kind);
                write!(
                    f,
                    "Error: Kptfile at {path} has an unknown resource type ({kind})."
                )
            }
            problem => write!(
                f,
                "Error: Kptfile at {path} can't be read.\n\nDetails:\n{problem}"
            ),
        }
    }
}

impl std::error::Error for KptfileError {}
