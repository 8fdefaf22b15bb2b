//! Why a layer cannot be unpacked.

use std::io;

/// Why a layer cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("cannot unpack {}", entry_text(entry.as_deref()))]
pub struct UnpackError {
    /// The name of the entry in the archive; `None` if the archive itself cannot be read.
    pub entry: Option<String>,
    pub source: UnpackProblem,
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
    #[error("the image exceeds the limit of {limit} {unit}")]
    Limit { limit: u64, unit: &'static str },
}

fn entry_text(entry: Option<&str>) -> String {
    match entry {
        Some(entry) => format!("the entry {entry} of the layer"),
        None => "the layer".to_owned(),
    }
}

impl From<rustix::io::Errno> for UnpackProblem {
    fn from(error: rustix::io::Errno) -> UnpackProblem {
        UnpackProblem::Io(error.into())
    }
}
