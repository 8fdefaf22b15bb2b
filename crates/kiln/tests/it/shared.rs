//! The recorded cases that lie beside the repository.

use std::path::{Path, PathBuf};

/// The directory of recorded cases; `None`, with a message, if it does not exist.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub(crate) fn directory(test: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("KILN_SHARED").map_or_else(beside, PathBuf::from);
    let cases = shared.join("conformance");
    if cases.is_dir() {
        return Some(cases);
    }
    eprintln!("SKIPPED {test}: no recorded cases at {}", cases.display());
    None
}
