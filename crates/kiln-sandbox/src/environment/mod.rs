//! The environment variables of a function.

use std::ffi::OsString;
use std::path::PathBuf;

/// The variables that every function gets, if they are set; a name that ends with `_` is a prefix. `HOME` and `TMPDIR`
/// are set in addition, to the private directory.
pub const ALLOWED_VARIABLES: &[&str] = &["PATH", "LANG", "LANGUAGE", "LC_", "TZ"];

/// The additional variables of functions that may use the network.
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

/// The parts of the host that a sandbox uses.
#[derive(Clone, Debug)]
pub struct HostEnvironment {
    /// The environment of this program; functions get a part of it.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to make private directories; usually `/tmp`.
    pub temporary: PathBuf,
}

/// The variables that `names` and `allowed` list.
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
