//! What the verbs of `kiln rpkg` and `kiln repo` share.
//!
//! `flags` open a `Session`: the registered repositories (`repositories_file`) and the one around the current directory
//! (`discovery`), with git set up from the environment (`git_environment`). The other modules print revisions, and read and
//! write directories with the files of one.

pub(crate) mod api_object;
pub(crate) mod batch;
pub(crate) mod directory;
pub(crate) mod discovery;
pub(crate) mod flags;
pub(crate) mod git_environment;
pub(crate) mod image_updates;
pub(crate) mod output;
pub(crate) mod render_flags;
pub(crate) mod repositories_file;
pub(crate) mod revision_file;
mod session;
pub(crate) mod table;
pub(crate) mod updates;
pub(crate) mod upstreams;
