//! Which variables a function gets.

use std::ffi::OsString;
use std::path::PathBuf;

/// The variables that every function gets, if they are set; those that end with `_` stand for all that begin so.
/// `HOME` and `TMPDIR` are set besides, to the private directory.
pub const ALLOWED_VARIABLES: &[&str] = &["PATH", "LANG", "LANGUAGE", "LC_", "TZ"];

/// The variables that functions get besides which may use the network.
pub const NETWORK_VARIABLES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// What the sandbox takes from the program that makes it.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The environment of the program, of which functions get a part.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the private directories are made; `/tmp` usually.
    pub temporary: PathBuf,
}

/// The variables that `names` and `allowed` name.
#[cfg(target_os = "linux")]
pub(crate) fn cleaned(
    environment: Vec<(OsString, OsString)>,
    allowed: &[&str],
    names: &[String],
) -> Vec<(OsString, OsString)> {
    use std::os::unix::ffi::OsStrExt;

    let is_allowed = |name: &OsString| {
        allowed.iter().any(|&entry| match entry.ends_with('_') {
            true => name.as_bytes().starts_with(entry.as_bytes()),
            false => name.as_bytes() == entry.as_bytes(),
        }) || names.iter().any(|entry| entry.as_str() == name)
    };
    let kept = environment.into_iter().filter(|(name, _)| is_allowed(name));
    kept.collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
