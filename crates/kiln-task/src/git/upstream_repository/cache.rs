//! The two caches: kiln's bare repositories behind locks, and kpt's repositories with work trees.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use md5::{Digest as _, Md5};

use super::super::owner::check_owner;
use super::super::program::{GitProgram, failed, without_credentials};
use super::super::store::file_name;
use super::UpstreamError;

/// Opens or creates a bare repository in kiln's cache.
pub(super) fn open_own(
    address: &str,
    cache: &Path,
    program: &GitProgram,
) -> Result<(GitProgram, File), UpstreamError> {
    let name = file_name(&without_credentials(address));
    let path = cache.join(format!("{name}.packages"));
    let cache_error = |error| UpstreamError::Cache {
        path: path.clone(),
        error,
    };
    fs::create_dir_all(cache).map_err(cache_error)?;
    check_owner(cache)?;
    let lock = File::create(cache.join(format!("{name}.packages.lock"))).map_err(cache_error)?;
    lock.lock().map_err(cache_error)?;
    if !path.exists() {
        // Created under another name, because an unfinished repository looks like a finished one.
        let temporary = cache.join(format!("{name}.packages.new"));
        if temporary.exists() {
            fs::remove_dir_all(&temporary).map_err(cache_error)?;
        }
        let flags = ["--bare", "--quiet", "--template=", "--"].map(OsStr::new);
        program.run(
            "init",
            &[&flags[..], &[temporary.as_os_str()]].concat(),
            b"",
        )?;
        fs::rename(&temporary, &path).map_err(cache_error)?;
    }
    check_owner(&path)?;
    lock.unlock().map_err(cache_error)?;
    let git = program
        .in_repository(&path)
        .with_config("remote.origin.url", address);
    Ok((git, lock))
}

/// Opens or creates a repository in kpt's cache.
pub(super) fn open_shared(
    address: &str,
    cache: &Path,
    program: &GitProgram,
) -> Result<(GitProgram, File), UpstreamError> {
    let path = cache.join(shared_name(address));
    let cache_error = |error| UpstreamError::Cache {
        path: path.clone(),
        error,
    };
    create_private(cache).map_err(cache_error)?;
    if !path.exists() {
        let flags = ["--quiet", "--"].map(OsStr::new);
        program.run("init", &[&flags[..], &[path.as_os_str()]].concat(), b"")?;
        let git = program.in_directory(&path);
        let arguments = ["add", "origin", address].map(OsStr::new);
        let output = git.output("remote", &arguments, b"")?;
        if !output.status.success() {
            return Err(failed("remote", &output).into());
        }
    }
    let lock = File::open(&path).map_err(cache_error)?;
    Ok((program.in_directory(&path), lock))
}

#[cfg(unix)]
fn create_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
fn create_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// The name of a repository's directory in kpt's cache: the MD5 of its address in base32.
fn shared_name(address: &str) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = Md5::digest(address.as_bytes());
    let mut name = String::new();
    for chunk in hash.chunks(5) {
        let mut bits = [0u8; 8];
        bits[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(bits);
        let digits = (chunk.len() * 8).div_ceil(5);
        for index in 0..8 {
            match index < digits {
                true => name.push(char::from(
                    ALPHABET[(bits >> (35 - 5 * index) & 31) as usize],
                )),
                false => name.push('='),
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::shared_name;

    #[test]
    fn names_in_the_cache_are_kpts() {
        // The base32 of MD5, with padding.
        for (address, name) in [
            ("file:///r/up", "ilqivq3hxa7nvkpti4hw7cnpfq======"),
            (
                "https://github.com/kptdev/kpt",
                "o5dpdgyw4jjdf3tcm7vqidixpq======",
            ),
        ] {
            assert_eq!(shared_name(address), name);
        }
    }
}
