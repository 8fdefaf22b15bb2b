//! A repository elsewhere: a copy that follows it, and pushes that say what they expect.
//!
//! The address is never stored; the copy's name is the address without credentials. Two commands do not change a copy
//! at the same time, so that locks which git has left in it are nobody's to whoever has ours.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

use kiln_krm::gotext::quote;

use super::super::program::{GitError, GitProgram, failed, without_credentials};
use super::local::is_lock;
use super::{Atomicity, GitOptions, OpenError, PublishError, RefChange};

/// Where the copy has the branches of the repository.
pub(super) const TRACKED: &str = "refs/remotes/origin/";

/// An address that git is not to see.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid repository address {}", quote(.0))]
pub struct InvalidAddress(String);

/// The copy. Whoever changes its refs holds its lock; objects can be written without.
#[derive(Debug)]
pub(super) struct Remote {
    path: PathBuf,
    lock_path: PathBuf,
}

/// Opens the copy of a repository, or begins one.
pub(super) fn open(address: &str, options: &GitOptions) -> Result<(GitProgram, Remote), OpenError> {
    check(address)?;
    let location = without_credentials(address);
    let path = options.cache.join(file_name(&location));
    let cache_error = |error| OpenError::Cache {
        location: location.clone(),
        path: path.clone(),
        error,
    };
    fs::create_dir_all(&options.cache).map_err(cache_error)?;
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let remote = Remote {
        path: path.clone(),
        lock_path: PathBuf::from(lock_path),
    };
    let _lock = remote.lock().map_err(cache_error)?;
    if !path.exists() {
        // It is made elsewhere, because one that was not finished looks much like one that was.
        let mut beside = path.clone().into_os_string();
        beside.push(".new");
        if Path::new(&beside).exists() {
            fs::remove_dir_all(&beside).map_err(cache_error)?;
        }
        let arguments = ["--bare", "--quiet", "--template="].map(OsStr::new);
        let arguments = [&arguments[..], &[OsStr::new("--"), &beside]].concat();
        let begun = options.program.run("init", &arguments, b"");
        begun.map_err(|error| OpenError::Git {
            location: location.clone(),
            error,
        })?;
        fs::rename(&beside, &path).map_err(cache_error)?;
    }
    let git = options
        .program
        .in_repository(&path)
        .with_config("remote.origin.url", address)
        .with_config("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
        .with_config("remote.origin.fetch", "+refs/tags/*:refs/tags/*");
    Ok((git, remote))
}

impl Remote {
    fn lock(&self) -> std::io::Result<File> {
        let lock = File::create(&self.lock_path)?;
        lock.lock()?;
        Ok(lock)
    }

    pub(super) fn fetch(&self, git: &GitProgram) -> Result<(), GitError> {
        let lock = self.lock().map_err(GitError::Lock)?;
        let arguments = [
            "--prune",
            "--quiet",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--end-of-options",
            "origin",
        ];
        let arguments = arguments.map(OsStr::new);
        let mut output = git.talk("fetch", &arguments, &lock)?;
        if is_lock(&String::from_utf8_lossy(&output.stderr)) {
            remove_locks(&self.path);
            output = git.talk("fetch", &arguments, &lock)?;
        }
        match output.status.success() {
            true => Ok(()),
            false => Err(failed("fetch", &output)),
        }
    }

    pub(super) fn push(
        &self,
        git: &GitProgram,
        changes: &[RefChange],
        atomicity: Atomicity,
    ) -> Result<(), PublishError> {
        let lock = self.lock().map_err(GitError::Lock)?;
        let push_once = |changes: &[RefChange], flags: &[&str]| push(git, changes, flags, &lock);
        match push_once(changes, &["--atomic"]) {
            Err(PublishError::NotAtomic) if changes.len() < 2 => push_once(changes, &[]),
            Err(PublishError::NotAtomic) if atomicity == Atomicity::NotRequired => {
                // What is new comes first, so that nothing is lost when the rest fails.
                let (new, gone): (Vec<RefChange>, Vec<RefChange>) = changes
                    .iter()
                    .cloned()
                    .partition(|change| change.new.is_some());
                push_once(&new, &[])?;
                match gone.is_empty() {
                    true => Ok(()),
                    false => push_once(&gone, &[]),
                }
            }
            pushed => pushed,
        }
    }
}

/// Removes the locks of git that were left in a copy. Only whoever has our lock may do so.
fn remove_locks(copy: &Path) {
    let mut pending = vec![copy.join("refs")];
    let top = [
        "packed-refs.lock",
        "shallow.lock",
        "config.lock",
        "HEAD.lock",
    ];
    for name in top {
        let _ = fs::remove_file(copy.join(name));
    }
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                _ if path.extension() == Some(OsStr::new("lock")) => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
    }
}

fn push(
    git: &GitProgram,
    changes: &[RefChange],
    flags: &[&str],
    lock: &File,
) -> Result<(), PublishError> {
    let mut arguments: Vec<String> = ["--porcelain", "--quiet", "--no-verify"]
        .iter()
        .chain(flags)
        .map(|flag| (*flag).to_owned())
        .collect();
    for change in changes {
        let old = change.old.as_ref().map_or("", |old| old.as_str());
        arguments.push(format!("--force-with-lease={}:{old}", change.name));
    }
    arguments.extend(["--end-of-options".to_owned(), "origin".to_owned()]);
    for change in changes {
        let new = change.new.as_ref().map_or("", |new| new.as_str());
        arguments.push(format!("{new}:{}", change.name));
    }
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let output = git
        .talk("push", &arguments, lock)
        .map_err(|error| match error {
            error @ GitError::TimedOut { .. } => PublishError::Unknown(error),
            error => error.into(),
        })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(refusal(&output)),
    }
}

/// Lines that begin with `!` are about refs that did not change. Git's words tell whether somebody was faster.
fn refusal(output: &Output) -> PublishError {
    let talk = String::from_utf8_lossy(&output.stderr);
    if talk.contains("does not support --atomic") {
        return PublishError::NotAtomic;
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    let refused: Vec<&str> = answer
        .lines()
        .filter(|line| line.starts_with('!'))
        .collect();
    if refused.is_empty() {
        return PublishError::Git(failed("push", output));
    }
    // What the other git says tells more than that a ref did not change.
    let said = |words: &str| {
        let line = talk.lines().find(|line| line.contains(words))?;
        let line = line.trim_start_matches("remote: ").trim_end();
        let line = line.trim_start_matches("error: ").trim_end_matches('.');
        Some(without_credentials(line))
    };
    if let Some(line) = said(".lock': File exists") {
        return PublishError::Busy(line);
    }
    if let Some(line) = said("; cannot create") {
        return PublishError::Rejected(line);
    }
    let is_stale = |line: &&&str| {
        [
            "stale info",
            "fetch first",
            "non-fast-forward",
            "cannot lock ref",
            "failed to update ref",
            "incorrect old value",
            "already exists",
        ]
        .iter()
        .any(|words| line.contains(words))
    };
    let reason = |line: &str| -> String {
        let mut fields = line.split('\t').skip(1);
        let name = fields.next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default();
        format!("{name} {}", fields.next().unwrap_or_default())
    };
    if let Some(line) = refused.iter().find(is_stale) {
        return PublishError::Stale(reason(line));
    }
    // Of refs that change together, nothing else tells why none did.
    if let Some(line) = said("cannot lock ref").or_else(|| said("but expected")) {
        return PublishError::Stale(line);
    }
    let reasons: Vec<String> = refused.iter().map(|line| reason(line)).collect();
    let told: Vec<&str> = talk
        .lines()
        .filter_map(|line| line.strip_prefix("remote: "))
        .map(str::trim_end)
        .collect();
    let parts = [told.join("\n"), reasons.join(", ")];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    PublishError::Rejected(without_credentials(&parts.join("\n")))
}

/// What looks like an option, has control characters or names a helper program is no address.
fn check(address: &str) -> Result<(), InvalidAddress> {
    let is_helpers = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let names_helper = address.trim_start_matches(is_helpers).starts_with("::");
    let is_bad = address.is_empty()
        || address.starts_with('-')
        || address.contains(char::is_control)
        || names_helper;
    match is_bad {
        true => Err(InvalidAddress(without_credentials(address))),
        false => Ok(()),
    }
}

/// A file's name for an address, different for different ones.
pub(super) fn file_name(address: &str) -> String {
    let mut name = String::new();
    for byte in address.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            byte => name += &format!("%{byte:02X}"),
        }
    }
    if name.len() > 200 {
        // FNV-1a; it only has to keep apart what begins the same.
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = address.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
        name.truncate(180);
        name += &format!("%%{hash:016x}");
    }
    name + ".git"
}

#[cfg(test)]
mod tests {
    use super::{check, file_name};

    #[test]
    fn what_git_could_misunderstand_is_refused() {
        for address in [
            "",
            "-x",
            "--upload-pack=touch x",
            "ext::sh -c x",
            "a\nb",
            "fd::17",
        ] {
            assert!(check(address).is_err(), "{address:?}");
        }
        for address in [
            "https://example.com/r.git",
            "git@example.com:r.git",
            "file:///x",
            "ssh://h/~/r",
            "https://[2001:db8::1]:8443/r.git",
        ] {
            assert!(check(address).is_ok(), "{address:?}");
        }
    }

    #[test]
    fn different_addresses_have_different_copies() {
        let long = "x".repeat(300);
        let names = [
            "https://h/a",
            "https://h/b",
            "https://h%2Fa",
            "..",
            &long,
            &format!("{long}y"),
        ];
        let mut copies: Vec<String> = names.iter().map(|name| file_name(name)).collect();
        assert!(
            copies
                .iter()
                .all(|name| !name.contains('/') && !name.starts_with('.'))
        );
        copies.sort();
        copies.dedup();
        assert_eq!(copies.len(), names.len());
    }
}
