//! A repository that packages are fetched from, with a cache that has only the commits that were asked for.
//!
//! kiln's cache is a bare repository behind a lock, and it never stores the address. kpt's cache has a work tree and no lock; it is
//! shared with kpt, so the same commands with the same output run in it, but its work tree is neither used nor changed.

mod cache;
mod error;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Output;

use super::id::ObjectId;
use super::objects::{ObjectReader, PackageLimits, ReadPackageError, read_package};
use super::program::{GitError, GitProgram, without_credentials};
use super::store::GitOptions;
use crate::contents::Contents;
use cache::{open_own, open_shared};

pub use error::{UpstreamCommandError, UpstreamError, UpstreamProblem};

/// Where repositories are cached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UpstreamCache {
    /// kiln's own, in the cache directory of the git options.
    Kiln,
    /// kpt's, in this directory.
    Kpt(PathBuf),
}

/// An open repository and its branches and tags.
#[derive(Debug)]
pub(crate) struct UpstreamRepository {
    address: String,
    git: GitProgram,
    is_shared: bool,
    limits: PackageLimits,
    /// Held while kiln's cache is changed. kpt has no lock; there it is only the standard input of git.
    lock: File,
    heads: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    /// The commits that annotated tags point to.
    peeled: BTreeMap<String, String>,
    /// Commits and other names that were fetched since it was opened.
    fetched: HashSet<String>,
}

/// Receives what git prints while it fetches.
pub(crate) type Talk<'a> = &'a mut dyn FnMut(&[u8]);

impl UpstreamRepository {
    /// Opens the cached copy of a repository, or creates it, and lists its branches and tags.
    pub(crate) fn open(
        address: &str,
        cache: &UpstreamCache,
        options: &GitOptions,
    ) -> Result<UpstreamRepository, UpstreamError> {
        refuse_option("repo URI", address)?;
        options.program.check_version()?;
        let program = options.program.clone().without_prompts();
        let limits = PackageLimits {
            bytes: options.max_package_size,
            entries: options.max_files,
        };
        let (git, lock, is_shared) = match cache {
            UpstreamCache::Kiln => {
                let (git, lock) = open_own(address, &options.cache, &program)?;
                (git, lock, false)
            }
            UpstreamCache::Kpt(directory) => {
                let (git, lock) = open_shared(address, directory, &program)?;
                (git, lock, true)
            }
        };
        let mut repository = UpstreamRepository {
            address: address.to_owned(),
            git,
            is_shared,
            limits,
            lock,
            heads: BTreeMap::new(),
            tags: BTreeMap::new(),
            peeled: BTreeMap::new(),
            fetched: HashSet::new(),
        };
        repository.list_refs()?;
        Ok(repository)
    }

    pub(crate) fn branches(&self) -> Vec<String> {
        self.heads.keys().cloned().collect()
    }

    /// The tags, if this name is one of them and not that of a branch.
    pub(crate) fn tags_beside(&self, git_ref: &str) -> Vec<String> {
        match self.resolve(git_ref) {
            Some((_, name)) if name.starts_with("refs/tags/") => {
                self.tags.keys().cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn has_tag(&self, name: &str) -> bool {
        self.tags
            .contains_key(name.strip_prefix("refs/tags/").unwrap_or(name))
    }

    /// The branch that HEAD points to. kpt refuses a name with slashes.
    pub(crate) fn default_branch(&self) -> Result<String, UpstreamError> {
        let output = self.remote_command("ls-remote", &["--symref", "origin", "HEAD"], None)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.is_empty() {
            return Err(UpstreamError::NoDefaultBranch);
        }
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("ref: refs/heads/"));
        let name = line.and_then(|line| line.split_whitespace().next());
        match name {
            Some(name) if !self.is_shared || !name.contains('/') => Ok(name.to_owned()),
            _ => Err(UpstreamError::DefaultBranch(text)),
        }
    }

    /// Fetches a branch, tag or commit, and returns the object to read packages from. Branches are listed again, because they
    /// move. kpt's name of a commit is as short as the user wrote it, or that of an annotated tag.
    pub(crate) fn fetch(&mut self, git_ref: &str, talk: Talk<'_>) -> Result<String, UpstreamError> {
        refuse_option("reference", git_ref)?;
        match self.is_shared {
            true => self.fetch_like_kpt(git_ref, talk),
            false => {
                self.lock.lock().map_err(GitError::Lock)?;
                let fetched = self.fetch_missing(git_ref);
                // Closing the file would unlock it, too.
                let _ = self.lock.unlock();
                fetched
            }
        }
    }

    /// The files of a directory (`a/b`) at a commit; `None` if there is no such directory. Submodules are left out, and added to
    /// `submodules`.
    pub(crate) fn read(
        &self,
        commit: &str,
        directory: &str,
        submodules: &mut Vec<String>,
    ) -> Result<Option<Contents>, ReadPackageError> {
        let mut reader = ObjectReader::start(&self.git)?;
        read_package(&mut reader, commit, directory, self.limits, &mut |path| {
            submodules.push(path.to_string());
            Ok(())
        })
    }

    fn list_refs(&mut self) -> Result<(), UpstreamError> {
        // Without `--refs`, the commits of annotated tags are listed too.
        let arguments: &[&str] = match self.is_shared {
            true => &["--heads", "--tags", "--refs", "origin"],
            false => &["--heads", "--tags", "origin"],
        };
        let output = self.remote_command("ls-remote", arguments, None)?;
        let (mut heads, mut tags) = (BTreeMap::new(), BTreeMap::new());
        let mut peeled = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((id, name)) = line.split_once(char::is_whitespace) else {
                continue;
            };
            let (id, name) = (id.to_owned(), name.trim());
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                refuse_option("reference", branch)?;
                heads.insert(branch.to_owned(), id);
            } else if let Some(tag) = name.strip_prefix("refs/tags/") {
                refuse_option("reference", tag)?;
                match tag.strip_suffix("^{}") {
                    Some(tag) => peeled.insert(tag.to_owned(), id),
                    None => tags.insert(tag.to_owned(), id),
                };
            }
        }
        (self.heads, self.tags, self.peeled) = (heads, tags, peeled);
        Ok(())
    }

    /// The object of a branch, else of a tag, and the full name of the ref.
    fn resolve(&self, git_ref: &str) -> Option<(&str, String)> {
        let branch = git_ref.strip_prefix("refs/heads/").unwrap_or(git_ref);
        if let Some(id) = self.heads.get(branch) {
            return Some((id, format!("refs/heads/{branch}")));
        }
        let tag = git_ref.strip_prefix("refs/tags/").unwrap_or(git_ref);
        let id = self.tags.get(tag)?;
        let id = match self.is_shared {
            true => id,
            false => self.peeled.get(tag).unwrap_or(id),
        };
        Some((id, format!("refs/tags/{tag}")))
    }

    fn fetch_like_kpt(&mut self, git_ref: &str, talk: Talk<'_>) -> Result<String, UpstreamError> {
        self.list_refs()?;
        let resolved = self.resolve(git_ref).map(|(id, _)| id.to_owned());
        let commit = resolved.clone().unwrap_or_else(|| git_ref.to_owned());
        if self.fetched.contains(&commit) {
            return Ok(commit);
        }
        if resolved.is_some() || ObjectId::new(git_ref).is_some() {
            let arguments = ["origin", "--depth=1", git_ref];
            let output = self.remote_command("fetch", &arguments, Some(git_ref))?;
            talk(&output.stderr);
        } else {
            let output = self.remote_command("fetch", &["origin"], None)?;
            talk(&output.stderr);
            let output = self.git.output("show", &[OsStr::new(git_ref)], b"")?;
            if !output.status.success() {
                let command = ("show", &[git_ref][..]);
                let error =
                    UpstreamCommandError::new(&self.address, command, Some(git_ref), &output);
                return Err(error.into());
            }
        }
        self.fetched.insert(commit.clone());
        Ok(commit)
    }

    /// Fetches a commit unless the cache has it. A commit that the remote does not offer by itself may be in the history. The caller
    /// holds the lock.
    fn fetch_missing(&mut self, git_ref: &str) -> Result<String, UpstreamError> {
        let resolved = self
            .resolve(git_ref)
            .map(|(id, name)| (id.to_owned(), name));
        let (name, fetched) = match resolved {
            Some((id, name)) => (name, id),
            None => (git_ref.to_owned(), git_ref.to_owned()),
        };
        if let Some(commit) = self.known_commit(&fetched)? {
            return Ok(commit);
        }
        if let Some(git_dir) = self.git.git_dir() {
            // Left by a git that was killed; the lock is ours, so no other git runs here.
            let _ = fs::remove_file(git_dir.join("shallow.lock"));
        }
        let quiet = [
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ];
        if fetched != git_ref || ObjectId::new(git_ref).is_some() {
            let arguments = [
                &quiet[..],
                &["--depth=1", "--end-of-options", "origin", &name],
            ]
            .concat();
            let first = self.remote_command("fetch", &arguments, Some(git_ref));
            if let Some(commit) = self.known_commit(&fetched)? {
                return Ok(commit);
            }
            if name != git_ref || fetched != git_ref {
                first?;
            }
        }
        let is_shallow = self
            .git
            .git_dir()
            .is_some_and(|dir| dir.join("shallow").exists());
        let depth: &[&str] = if is_shallow { &["--unshallow"] } else { &[] };
        let refs = [
            "--end-of-options",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
            "+refs/tags/*:refs/tags/*",
        ];
        let arguments = [&quiet[..], depth, &refs].concat();
        self.remote_command("fetch", &arguments, None)?;
        let commit = self.known_commit(&fetched)?;
        commit.ok_or_else(|| {
            UpstreamError::Command(UpstreamCommandError {
                problem: UpstreamProblem::UnknownRef,
                command: format!("git fetch {}", arguments.join(" ")),
                repo: without_credentials(&self.address),
                git_ref: Some(git_ref.to_owned()),
                output: String::new(),
            })
        })
    }

    /// The full hash of a commit that the cache has.
    fn known_commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let is_hash = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return Ok(None);
        }
        let mut reader = ObjectReader::start(&self.git)?;
        let object = reader.read(&format!("{name}^{{commit}}"), u64::MAX)?;
        Ok(object.map(|object| object.id.to_string()))
    }

    /// Runs a command that talks to the remote and must succeed.
    fn remote_command(
        &self,
        command: &'static str,
        arguments: &[&str],
        git_ref: Option<&str>,
    ) -> Result<Output, UpstreamError> {
        let given: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let output = self.git.run_remote(command, &given, &self.lock)?;
        match output.status.success() {
            true => Ok(output),
            false => {
                let command = (command, arguments);
                Err(UpstreamCommandError::new(&self.address, command, git_ref, &output).into())
            }
        }
    }
}

/// Refuses a value that git would take for an option.
fn refuse_option(kind: &'static str, value: &str) -> Result<(), UpstreamError> {
    match value.starts_with('-') {
        true => Err(UpstreamError::LikeOption {
            kind,
            value: value.to_owned(),
        }),
        false => Ok(()),
    }
}
