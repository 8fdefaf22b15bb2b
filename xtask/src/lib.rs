//! Checks and tasks of the workspace, as functions so that tests can call them.

pub mod dist;
pub mod generate;
pub mod images;
mod markdown;
pub mod site;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The directory of the root manifest.
pub fn workspace_root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// The directory of build results.
fn target_directory(root: &Path) -> PathBuf {
    let own = std::env::var_os("CARGO_TARGET_DIR");
    own.map_or_else(|| root.join("target"), PathBuf::from)
}
