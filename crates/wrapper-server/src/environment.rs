//! Every environment variable that the programs read.

/// Where the entrypoint is searched for if it is no path.
pub(crate) const PATH: &str = "PATH";
