//! Writes blobs, trees and commits. They have no ref until one is updated.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use crate::contents::Contents;

use super::super::id::ObjectId;
use super::super::program::{GitError, GitProgram, failed};
use super::commit::{Commit, GitIdentity};
use super::quarantine::Quarantine;
use super::reader::{ObjectKind, ObjectReader};
use super::tree::{DIRECTORY, GitTree, TreeEntry};

pub(crate) struct NewCommit<'a> {
    /// The tree of the first parent is changed. Empty in an empty repository.
    pub(crate) parents: Vec<ObjectId>,
    /// The package's directory relative to the root of the repository.
    pub(crate) package: &'a str,
    pub(crate) change: PackageChange<'a>,
    pub(crate) message: &'a str,
    pub(crate) author: &'a GitIdentity,
    /// Seconds since 1970.
    pub(crate) time: u64,
}

/// The change of the package's directory.
pub(crate) enum PackageChange<'a> {
    /// Replaces it with these files.
    Contents(&'a Contents),
    /// Replaces it with this tree.
    Tree(ObjectId),
    Remove,
}

pub(crate) struct CommitWriter<'a> {
    pub(crate) git: &'a GitProgram,
    pub(crate) reader: &'a mut ObjectReader,
}

impl CommitWriter<'_> {
    /// Writes a commit with its trees and blobs.
    pub(crate) fn commit(&mut self, new: &NewCommit<'_>) -> Result<ObjectId, GitError> {
        let mut tree_writer = TreeWriter::start(self.git)?;
        let package = match &new.change {
            PackageChange::Contents(contents) => {
                Some(self.write_contents(contents, &mut tree_writer)?)
            }
            PackageChange::Tree(tree) => Some(tree.clone()),
            PackageChange::Remove => None,
        };
        let tree = self.root_with(new.parents.first(), new.package, package, &mut tree_writer)?;
        let committer = GitIdentity::porch();
        let mut text = format!("tree {tree}\n");
        for parent in &new.parents {
            text += &format!("parent {parent}\n");
        }
        let time = new.time;
        text += &format!("author {} {time} +0000\n", new.author.to_header());
        text += &format!("committer {} {time} +0000\n", committer.to_header());
        text += &format!("\n{}", new.message);
        let arguments = ["-t", "commit", "-w", "--stdin"].map(OsStr::new);
        let output = self.git.run("hash-object", &arguments, text.as_bytes())?;
        id_of("hash-object", &output)
    }

    /// Writes the tree of a package.
    fn write_contents(
        &self,
        contents: &Contents,
        tree_writer: &mut TreeWriter,
    ) -> Result<ObjectId, GitError> {
        let ids = self.write_blobs(contents)?;
        let mut trees: BTreeMap<&str, GitTree> = BTreeMap::new();
        trees.insert("", GitTree::default());
        for ((path, file), id) in contents.iter().zip(ids) {
            let entry = TreeEntry {
                mode: file.mode.as_octal().to_owned(),
                name: path.name().into(),
                id,
            };
            trees.entry(path.directory()).or_default().set(entry);
            let mut directory = path.directory();
            while let Some((parent, _)) = directory.rsplit_once('/') {
                trees.entry(parent).or_default();
                directory = parent;
            }
        }
        let mut directories: Vec<&str> = trees.keys().copied().collect();
        let depth = |path: &str| match path {
            "" => 0,
            path => 1 + path.matches('/').count(),
        };
        directories.sort_by_key(|directory| std::cmp::Reverse(depth(directory)));
        let mut root = None;
        for directory in directories {
            let tree = trees.remove(directory).unwrap_or_default();
            let id = tree_writer.write(&tree)?;
            if directory.is_empty() {
                root = Some(id);
                continue;
            }
            let (parent, name) = directory.rsplit_once('/').unwrap_or(("", directory));
            let entry = TreeEntry {
                mode: DIRECTORY.to_owned(),
                name: name.into(),
                id,
            };
            trees.entry(parent).or_default().set(entry);
        }
        root.ok_or_else(|| unexpected("mktree", "nothing"))
    }

    /// Writes all files with one `git fast-import`.
    fn write_blobs(&self, contents: &Contents) -> Result<Vec<ObjectId>, GitError> {
        let mut stream = Vec::new();
        for (index, (_, file)) in contents.iter().enumerate() {
            let mark = index + 1;
            let size = file.bytes.len();
            stream.extend(format!("blob\nmark :{mark}\ndata {size}\n").into_bytes());
            stream.extend(&*file.bytes);
            stream.extend(format!("\nget-mark :{mark}\n").into_bytes());
        }
        let output = self.import(&stream)?;
        let text = String::from_utf8_lossy(&output);
        let ids: Vec<ObjectId> = text.lines().filter_map(ObjectId::new).collect();
        match ids.len() == contents.len() {
            true => Ok(ids),
            false => Err(unexpected("fast-import", &text)),
        }
    }

    fn import(&self, stream: &[u8]) -> Result<Vec<u8>, GitError> {
        let Some(git_dir) = self.git.git_dir() else {
            return Err(unexpected("fast-import", "no repository"));
        };
        let quarantine = Quarantine::new(git_dir).map_err(GitError::Objects)?;
        let git = self.git.with_objects(&quarantine.path, &quarantine.objects);
        let arguments = ["--quiet", "--force"].map(OsStr::new);
        let mut output = git.output("fast-import", &arguments, stream)?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            output.stderr = remove_crash_report(git_dir, &message).into_bytes();
            return Err(failed("fast-import", &output));
        }
        quarantine.release().map_err(GitError::Objects)?;
        Ok(output.stdout)
    }

    /// Writes the tree of a commit with another directory at a path. Directories that become empty are removed.
    fn root_with(
        &mut self,
        base: Option<&ObjectId>,
        path: &str,
        package: Option<ObjectId>,
        tree_writer: &mut TreeWriter,
    ) -> Result<ObjectId, GitError> {
        if path.is_empty() {
            return match package {
                Some(package) => Ok(package),
                None => tree_writer.write(&GitTree::default()),
            };
        }
        let segments: Vec<&str> = path.split('/').collect();
        let mut trees = vec![self.root_of(base)?];
        for segment in segments.iter().take(segments.len().saturating_sub(1)) {
            let parent = trees.last().and_then(|tree| tree.entry(segment));
            let directory = parent.filter(|entry| entry.is_directory());
            let tree = match directory.map(|entry| entry.id.clone()) {
                Some(id) => self.read_tree(&id)?,
                None => GitTree::default(),
            };
            trees.push(tree);
        }
        let mut child = package;
        for (segment, mut tree) in segments.into_iter().zip(trees).rev() {
            match child {
                Some(id) => tree.set(TreeEntry {
                    mode: DIRECTORY.to_owned(),
                    name: segment.into(),
                    id,
                }),
                None => tree.remove(segment.as_bytes()),
            }
            child = match tree.entries.is_empty() {
                true => None,
                false => Some(tree_writer.write(&tree)?),
            };
        }
        match child {
            Some(root) => Ok(root),
            None => tree_writer.write(&GitTree::default()),
        }
    }

    fn root_of(&mut self, commit: Option<&ObjectId>) -> Result<GitTree, GitError> {
        let Some(commit) = commit else {
            return Ok(GitTree::default());
        };
        let object = self.reader.read(commit.as_str(), u64::MAX)?;
        let bytes = object.and_then(|object| object.bytes);
        let parsed = bytes.and_then(|bytes| Commit::parse(&bytes));
        match parsed {
            Some(parsed) => self.read_tree(&parsed.tree),
            None => Err(unexpected("cat-file", commit.as_str())),
        }
    }

    fn read_tree(&mut self, id: &ObjectId) -> Result<GitTree, GitError> {
        let object = self.reader.read(id.as_str(), u64::MAX)?;
        let object = object.filter(|object| object.kind == ObjectKind::Tree);
        let bytes = object.and_then(|object| object.bytes);
        let tree = bytes.and_then(|bytes| GitTree::parse(&bytes, id));
        tree.ok_or_else(|| unexpected("cat-file", id.as_str()))
    }
}

/// A running `git mktree --batch`. Trees are written one by one, so that each can contain the ones before.
struct TreeWriter {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl TreeWriter {
    fn start(git: &GitProgram) -> Result<TreeWriter, GitError> {
        let arguments = ["-z", "--batch"].map(OsStr::new);
        let mut child = git.spawn("mktree", &arguments, Stdio::null())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        match stdout {
            Some(stdout) => Ok(TreeWriter {
                child,
                stdin,
                stdout: BufReader::new(stdout),
            }),
            None => Err(unexpected("mktree", "no output")),
        }
    }

    fn write(&mut self, tree: &GitTree) -> Result<ObjectId, GitError> {
        let pipe_error = |error| GitError::Pipe {
            command: "mktree",
            error,
        };
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(&tree.to_mktree()).map_err(pipe_error)?;
            stdin.flush().map_err(pipe_error)?;
        }
        let mut line = Vec::new();
        self.stdout
            .read_until(b'\n', &mut line)
            .map_err(pipe_error)?;
        id_of("mktree", &line)
    }
}

impl Drop for TreeWriter {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// Removes the crash report that git has written, and the line about it from git's message.
fn remove_crash_report(git_dir: &Path, message: &str) -> String {
    let mut rest = Vec::new();
    for line in message.lines() {
        let report = line.strip_prefix("fast-import: dumping crash report to ");
        let name = report.and_then(|report| Path::new(report).file_name()?.to_str());
        match name.filter(|name| name.starts_with("fast_import_crash_")) {
            Some(name) => {
                let _ = std::fs::remove_file(git_dir.join(name));
            }
            None => rest.push(line),
        }
    }
    rest.join("\n")
}

fn id_of(command: &'static str, output: &[u8]) -> Result<ObjectId, GitError> {
    let text = String::from_utf8_lossy(output);
    ObjectId::new(text.trim()).ok_or_else(|| unexpected(command, text.trim()))
}

fn unexpected(command: &'static str, output: &str) -> GitError {
    GitError::Unexpected {
        command,
        output: output.to_owned(),
    }
}
