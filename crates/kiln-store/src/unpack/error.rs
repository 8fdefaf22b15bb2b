//! Why a layer cannot be unpacked.

use std::fmt;
use std::io;

/// Why a layer cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}")]
pub struct UnpackError {
    pub step: UnpackStep,
    pub source: UnpackProblem,
}

/// What was being done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnpackStep {
    /// An entry of a layer, by its name in the archive. The lowest layer is 1.
    Entry { layer: usize, name: String },
    /// The archive of a layer.
    Layer(usize),
    /// After the last layer.
    Completion,
}

/// What is wrong with a layer or with writing it.
#[derive(Debug, thiserror::Error)]
pub enum UnpackProblem {
    /// The layer is damaged, or the store cannot be written to.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("its archive is invalid: {0}")]
    Archive(&'static str),
    #[error("its name is invalid: {0}")]
    Name(&'static str),
    #[error("its link target is invalid: {0}")]
    LinkTarget(&'static str),
    #[error("entries of type {0:?} are not supported")]
    EntryType(char),
    #[error("its config is invalid: {0}")]
    Config(&'static str),
    #[error("the image exceeds the limit of {limit} {unit}")]
    Limit { limit: u64, unit: &'static str },
}

impl fmt::Display for UnpackStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnpackStep::Entry { layer, name } => {
                write!(f, "unpack the entry {name} of layer {layer}")
            }
            UnpackStep::Layer(layer) => write!(f, "unpack layer {layer}"),
            UnpackStep::Completion => f.write_str("complete the unpacked image"),
        }
    }
}

impl From<rustix::io::Errno> for UnpackProblem {
    fn from(error: rustix::io::Errno) -> UnpackProblem {
        UnpackProblem::Io(error.into())
    }
}
