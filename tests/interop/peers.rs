//! The Go peers, built once for each crate whose tests use them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The directory with `client` and `server`; `None`, with a SKIPPED line, without Go. `scratch` is the crate's
/// `CARGO_TARGET_TMPDIR`.
pub(crate) fn go_peers(scratch: &str) -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| build(scratch)).as_deref()
}

/// Prints that something was not tested.
#[expect(clippy::print_stderr, reason = "skipped tests are printed")]
pub(crate) fn skipped(why: &str) {
    eprintln!("{why}");
}

fn build(scratch: &str) -> Option<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/interop/build");
    let directory = Path::new(scratch).join("go-peers");
    let output = Command::new(script).arg(&directory).output();
    let output = output.expect("the script starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => Some(directory),
        Some(77) => {
            skipped(&printed);
            None
        }
        _ => panic!("{printed}{}", String::from_utf8_lossy(&output.stderr)),
    }
}
