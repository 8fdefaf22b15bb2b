//! The environment variables that the programs read.

/// Where to search for the entrypoint if it is not a path.
pub(crate) const PATH: &str = "PATH";
