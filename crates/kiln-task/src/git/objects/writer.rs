//! Writing objects: files, directories, and the commit that holds them. No ref knows of them until somebody moves one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use crate::contents::Contents;

use super::super::id::ObjectId;
use super::super::program::{GitError, GitProgram, failed};
use super::commit::{Commit, Identity};
use super::quarantine::Quarantine;
use super::reader::{ObjectKind, Reader};
use super::tree::{DIRECTORY, Tree, TreeEntry};

/// A commit to be.
pub(crate) struct NewCommit<'a> {
    /// The first is the one whose tree is changed; there is none in an empty repository.
    pub(crate) parents: Vec<ObjectId>,
    /// The package's directory from the root of the repository.
    pub(crate) package: &'a str,
    pub(crate) change: PackageChange<'a>,
    pub(crate) message: &'a str,
    pub(crate) author: &'a Identity,
    /// Seconds since 1970.
    pub(crate) time: u64,
}

/// What becomes of the package's directory.
pub(crate) enum PackageChange<'a> {
    /// It has these files and no others.
    Contents(&'a Contents),
    /// It is that directory.
    Tree(ObjectId),
    /// It goes.
    Remove,
}

/// Writes objects into a repository.
pub(crate) struct Writer<'a> {
    pub(crate) git: &'a GitProgram,
    pub(crate) reader: &'a mut Reader,
}

impl Writer<'_> {
    /// Writes a commit and everything it holds.
    pub(crate) fn commit(&mut self, new: &NewCommit<'_>) -> Result<ObjectId, GitError> {
        let mut maker = TreeMaker::start(self.git)?;
        let package = match &new.change {
            PackageChange::Contents(contents) => Some(self.write_contents(contents, &mut maker)?),
            PackageChange::Tree(tree) => Some(tree.clone()),
            PackageChange::Remove => None,
        };
        let tree = self.root_with(new.parents.first(), new.package, package, &mut maker)?;
        let committer = Identity::porch();
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

    /// The directory of a whole package.
    fn write_contents(
        &self,
        contents: &Contents,
        maker: &mut TreeMaker,
    ) -> Result<ObjectId, GitError> {
        let ids = self.write_blobs(contents)?;
        let mut trees: BTreeMap<&str, Tree> = BTreeMap::new();
        trees.insert("", Tree::default());
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
            let id = maker.make(&tree)?;
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

    /// Writes all files with one git.
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
            let said = String::from_utf8_lossy(&output.stderr);
            output.stderr = without_report(git_dir, &said).into_bytes();
            return Err(failed("fast-import", &output));
        }
        quarantine.release().map_err(GitError::Objects)?;
        Ok(output.stdout)
    }

    /// The tree of a commit with another directory at a path; directories that become empty go.
    fn root_with(
        &mut self,
        base: Option<&ObjectId>,
        path: &str,
        package: Option<ObjectId>,
        maker: &mut TreeMaker,
    ) -> Result<ObjectId, GitError> {
        if path.is_empty() {
            return match package {
                Some(package) => Ok(package),
                None => maker.make(&Tree::default()),
            };
        }
        let segments: Vec<&str> = path.split('/').collect();
        let mut trees = vec![self.root_of(base)?];
        for segment in segments.iter().take(segments.len().saturating_sub(1)) {
            let parent = trees.last().and_then(|tree| tree.entry(segment));
            let directory = parent.filter(|entry| entry.is_directory());
            let tree = match directory.map(|entry| entry.id.clone()) {
                Some(id) => self.read_tree(&id)?,
                None => Tree::default(),
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
                false => Some(maker.make(&tree)?),
            };
        }
        match child {
            Some(root) => Ok(root),
            None => maker.make(&Tree::default()),
        }
    }

    fn root_of(&mut self, commit: Option<&ObjectId>) -> Result<Tree, GitError> {
        let Some(commit) = commit else {
            return Ok(Tree::default());
        };
        let object = self.reader.read(commit.as_str(), u64::MAX)?;
        let bytes = object.and_then(|object| object.bytes);
        let parsed = bytes.and_then(|bytes| Commit::parse(&bytes));
        match parsed {
            Some(parsed) => self.read_tree(&parsed.tree),
            None => Err(unexpected("cat-file", commit.as_str())),
        }
    }

    fn read_tree(&mut self, id: &ObjectId) -> Result<Tree, GitError> {
        let object = self.reader.read(id.as_str(), u64::MAX)?;
        let object = object.filter(|object| object.kind == ObjectKind::Tree);
        let bytes = object.and_then(|object| object.bytes);
        let tree = bytes.and_then(|bytes| Tree::parse(&bytes, id));
        tree.ok_or_else(|| unexpected("cat-file", id.as_str()))
    }
}

/// A git that makes directories, one after the other, so that each can hold those before.
struct TreeMaker {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl TreeMaker {
    fn start(git: &GitProgram) -> Result<TreeMaker, GitError> {
        let arguments = ["-z", "--batch"].map(OsStr::new);
        let mut child = git.spawn("mktree", &arguments, Stdio::null())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        match stdout {
            Some(stdout) => Ok(TreeMaker {
                child,
                stdin,
                stdout: BufReader::new(stdout),
            }),
            None => Err(unexpected("mktree", "no output")),
        }
    }

    fn make(&mut self, tree: &Tree) -> Result<ObjectId, GitError> {
        let broken = |error| GitError::Broken {
            command: "mktree",
            error,
        };
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(&tree.to_mktree()).map_err(broken)?;
            stdin.flush().map_err(broken)?;
        }
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).map_err(broken)?;
        id_of("mktree", &line)
    }
}

impl Drop for TreeMaker {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// Removes the report about its failure that git says to have written; the rest of what it says.
fn without_report(git_dir: &Path, said: &str) -> String {
    let mut rest = Vec::new();
    for line in said.lines() {
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

fn unexpected(command: &'static str, answer: &str) -> GitError {
    GitError::Unexpected {
        command,
        answer: answer.to_owned(),
    }
}
