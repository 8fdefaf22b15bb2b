//! Checks and tasks of the workspace, as functions so that tests can call them.

pub mod generate;
pub mod images;
pub mod tidy;

use std::path::PathBuf;

/// The directory of the root manifest.
pub fn workspace_root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}
