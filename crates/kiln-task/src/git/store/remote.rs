//! A remote repository: a local copy that is fetched, and pushes that name the expected old values of refs.
//!
//! The address is never stored; the copy is named after the address without credentials. Only one command at a time changes a
//! copy, so a command that holds kiln's lock may remove the lock files of a killed git.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

use kiln_go::quote;

use super::super::owner::check_owner;
use super::super::program::{GitError, GitProgram, failed, without_credentials};
use super::local::is_lock;
use super::{Atomicity, GitOptions, OpenError, PublishError, RefChange};

/// The prefix of the remote's branches in the copy.
pub(super) const TRACKED: &str = "refs/remotes/origin/";

/// An address that git could take for an option or a command.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid repository address {}", quote(.0))]
pub struct InvalidAddress(String);

/// The local copy. Changing its refs needs the lock, writing objects does not.
#[derive(Debug)]
pub(super) struct Remote {
    path: PathBuf,
    lock_path: PathBuf,
}

/// Opens the local copy of a repository, or creates it.
pub(super) fn open(address: &str, options: &GitOptions) -> Result<(GitProgram, Remote), OpenError> {
    check(address)?;
    let location = without_credentials(address);
    let path = options.cache.join(file_name(&location));
    let cache_error = |error| OpenError::Cache {
        location: location.clone(),
        path: path.clone(),
        error,
    };
    let git_error = |error| OpenError::Git {
        location: location.clone(),
        error,
    };
    options.program.check_version().map_err(git_error)?;
    fs::create_dir_all(&options.cache).map_err(cache_error)?;
    check_owner(&options.cache)?;
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let remote = Remote {
        path: path.clone(),
        lock_path: PathBuf::from(lock_path),
    };
    let _lock = remote.lock().map_err(cache_error)?;
    if !path.exists() {
        // Created under another name, because an unfinished repository looks like a finished one.
        let mut temporary = path.clone().into_os_string();
        temporary.push(".new");
        if Path::new(&temporary).exists() {
            fs::remove_dir_all(&temporary).map_err(cache_error)?;
        }
        let arguments = ["--bare", "--quiet", "--template="].map(OsStr::new);
        let arguments = [&arguments[..], &[OsStr::new("--"), &temporary]].concat();
        let created = options.program.run("init", &arguments, b"");
        created.map_err(git_error)?;
        fs::rename(&temporary, &path).map_err(cache_error)?;
    }
    check_owner(&path)?;
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
        let mut output = git.run_remote("fetch", &arguments, &lock)?;
        if is_lock(&String::from_utf8_lossy(&output.stderr)) {
            remove_locks(&self.path);
            output = git.run_remote("fetch", &arguments, &lock)?;
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
                // Deletions come last, so that nothing is lost if a push fails.
                let (updates, deletions): (Vec<RefChange>, Vec<RefChange>) = changes
                    .iter()
                    .cloned()
                    .partition(|change| change.new.is_some());
                push_once(&updates, &[])?;
                match deletions.is_empty() {
                    true => Ok(()),
                    false => push_once(&deletions, &[]),
                }
            }
            pushed => pushed,
        }
    }
}

/// Removes the lock files of a killed git. The caller must hold kiln's lock.
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
        .run_remote("push", &arguments, lock)
        .map_err(|error| match error {
            error @ GitError::TimedOut { .. } => PublishError::Unknown(error),
            error => error.into(),
        })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(refusal(&output)),
    }
}

/// Explains a failed push. Lines that begin with `!` name refs that were not updated, and git's message says whether they have
/// changed meanwhile.
fn refusal(output: &Output) -> PublishError {
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("does not support --atomic") {
        return PublishError::NotAtomic;
    }
    let porcelain = String::from_utf8_lossy(&output.stdout);
    let refused: Vec<&str> = porcelain
        .lines()
        .filter(|line| line.starts_with('!'))
        .collect();
    if refused.is_empty() {
        return PublishError::Git(failed("push", output));
    }
    // The message of the remote says more than that a ref was not updated.
    let line_with = |words: &str| {
        let line = message.lines().find(|line| line.contains(words))?;
        let line = line.trim_start_matches("remote: ").trim_end();
        let line = line.trim_start_matches("error: ").trim_end_matches('.');
        Some(without_credentials(line))
    };
    if let Some(line) = line_with(".lock': File exists") {
        return PublishError::Busy(line);
    }
    if let Some(line) = line_with("; cannot create") {
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
        .any(|reason| line.contains(reason))
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
    // In an atomic push only the message says which ref has failed.
    if let Some(line) = line_with("cannot lock ref").or_else(|| line_with("but expected")) {
        return PublishError::Stale(line);
    }
    let reasons: Vec<String> = refused.iter().map(|line| reason(line)).collect();
    let remote_lines: Vec<&str> = message
        .lines()
        .filter_map(|line| line.strip_prefix("remote: "))
        .map(str::trim_end)
        .collect();
    let parts = [remote_lines.join("\n"), reasons.join(", ")];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    PublishError::Rejected(without_credentials(&parts.join("\n")))
}

/// Refuses addresses that look like an option, contain control characters or name a helper program.
fn check(address: &str) -> Result<(), InvalidAddress> {
    let is_helper_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let names_helper = address.trim_start_matches(is_helper_name).starts_with("::");
    let is_bad = address.is_empty()
        || address.starts_with('-')
        || address.contains(char::is_control)
        || names_helper;
    match is_bad {
        true => Err(InvalidAddress(without_credentials(address))),
        false => Ok(()),
    }
}

/// A unique file name for an address.
pub(in crate::git) fn file_name(address: &str) -> String {
    let mut name = String::new();
    for byte in address.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            byte => name += &format!("%{byte:02X}"),
        }
    }
    if name.len() > 200 {
        // FNV-1a is enough: it only distinguishes addresses with the same beginning.
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
    fn dangerous_addresses_are_refused() {
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
