//! Reads what git has of the files of a directory. Nothing is written, except that `git diff` notes the times of unchanged files in the
//! index.
//!
//! The repository is the one around the directory, never one that a variable selects: a hook of git has such variables for the
//! repository of the commit, with absolute paths in a linked work tree. Nothing that the repository names is run, neither in it nor
//! in its submodules: git itself never looks into those here.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::id::ObjectId;
use super::owner::{ForeignDirectory, foreign};
use super::program::{GitError, GitProgram, failed, os_string};

/// The files below a directory that is in a git repository. All paths are relative to the directory.
#[derive(Debug)]
pub struct WorkTree {
    /// As the caller configured it, for submodules.
    program: GitProgram,
    /// Runs in the directory.
    git: GitProgram,
    directory: PathBuf,
    /// The directory from the root of the repository, with a slash at its end.
    prefix: Vec<u8>,
}

/// The tracked files, and those of them that differ from the last commit.
#[derive(Debug)]
pub struct FileStatus {
    pub tracked: BTreeSet<PathBuf>,
    pub modified: BTreeSet<PathBuf>,
}

/// Why the state of files is unknown.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    #[error("{} is not a directory", .0.display())]
    NoDirectory(PathBuf),
    /// Git does not use the repositories of other users, because their settings name programs.
    #[error(transparent)]
    ForeignOwner(#[from] ForeignDirectory),
    #[error("the repository has no commit, branch or tag {0:?}")]
    UnknownCommit(String),
    #[error("no commit is an ancestor of both {0:?} and HEAD")]
    Unrelated(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl WorkTree {
    /// The work tree around a directory; `None` outside of repositories, where git is not needed.
    pub fn around(
        program: &GitProgram,
        directory: &Path,
    ) -> Result<Option<WorkTree>, WorkTreeError> {
        let physical = directory.canonicalize();
        let Some(physical) = physical.ok().filter(|physical| physical.is_dir()) else {
            return Err(WorkTreeError::NoDirectory(directory.to_owned()));
        };
        let Some(root) = repository_root(&physical) else {
            return Ok(None);
        };
        program.check_version()?;
        let git = program.in_directory(&physical).without_remotes();
        let arguments = ["--is-inside-work-tree", "--show-prefix"].map(OsStr::new);
        let found = git.output("rev-parse", &arguments, b"")?;
        if !found.status.success() {
            return match is_same_file_system(&physical, root) {
                true => Err(unreadable(root, failed("rev-parse", &found))),
                // Git does not look for repositories on other file systems.
                false => Ok(None),
            };
        }
        let Some(prefix) = found.stdout.strip_prefix(b"true\n") else {
            return Err(GitError::Failed {
                command: "rev-parse",
                message: "the repository has no work tree".to_owned(),
            }
            .into());
        };
        Ok(Some(WorkTree {
            program: program.clone(),
            git: git.without_filters()?,
            prefix: prefix.strip_suffix(b"\n").unwrap_or(prefix).to_owned(),
            directory: physical,
        }))
    }

    /// The tracked files, and those of them that differ from the last commit. Submodules are never different.
    pub fn status(&self) -> Result<FileStatus, WorkTreeError> {
        let tracked = self.paths("ls-files", &["-z", "--", "."])?;
        let status = [
            "--porcelain=v1",
            "-z",
            "--untracked-files=no",
            "--ignore-submodules=all",
            "--no-renames",
            "--",
            ".",
        ];
        // Two letters and a blank, and the path from the root of the repository.
        let modified = entries(&self.run("status", &status)?)
            .filter_map(|line| line.get(3..)?.strip_prefix(&*self.prefix))
            .map(path)
            .collect();
        Ok(FileStatus {
            tracked: tracked.into_iter().collect(),
            modified,
        })
    }

    /// The files that differ from the commit from which the histories of `commit` and of the work tree went apart, and those that
    /// git neither tracks nor ignores. A submodule, and a repository that is not one, are a single path.
    pub fn changed_since(&self, commit: &str) -> Result<BTreeSet<PathBuf>, WorkTreeError> {
        self.changed_from(&self.base(commit)?)
    }

    fn changed_from(&self, tree: &str) -> Result<BTreeSet<PathBuf>, WorkTreeError> {
        let compared = [
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            // To see changes in a submodule, git would run its filters.
            "--ignore-submodules=dirty",
            "--relative",
            "--name-only",
            "-z",
            tree,
            "--",
            ".",
        ];
        let untracked = ["--others", "--exclude-standard", "-z"];
        let mut changed: BTreeSet<PathBuf> = self.paths("diff", &compared)?.into_iter().collect();
        changed.extend(self.paths("ls-files", &untracked)?);
        for submodule in self.submodules()? {
            if !changed.contains(&submodule) && self.has_changes(&submodule)? {
                changed.insert(submodule);
            }
        }
        Ok(changed)
    }

    /// The commit or tree to compare the work tree with.
    fn base(&self, commit: &str) -> Result<String, WorkTreeError> {
        let head = self.commit_of("HEAD")?;
        if commit == "HEAD" {
            return match head {
                Some(head) => Ok(head),
                None => self.empty_tree(),
            };
        }
        let Some(found) = self.commit_of(commit)? else {
            return Err(WorkTreeError::UnknownCommit(commit.to_owned()));
        };
        let unrelated = || WorkTreeError::Unrelated(commit.to_owned());
        let head = head.ok_or_else(unrelated)?;
        // `git diff --merge-base` refuses histories with several bases.
        let arguments = [&*found, &*head].map(OsStr::new);
        let output = self.git.output("merge-base", &arguments, b"")?;
        match output.status.code() {
            Some(0) => Ok(first_line(&output.stdout)),
            Some(1) => Err(unrelated()),
            _ => Err(failed("merge-base", &output).into()),
        }
    }

    /// The commit of a name; `None` if there is none.
    fn commit_of(&self, name: &str) -> Result<Option<String>, WorkTreeError> {
        if name.is_empty() || name.starts_with('-') {
            return Ok(None);
        }
        let name = format!("{name}^{{commit}}");
        let arguments = ["--quiet", "--verify", &name].map(OsStr::new);
        let output = self.git.output("rev-parse", &arguments, b"")?;
        match output.status.code() {
            // A name may also exclude a commit (`^main`), which is not a commit to compare with.
            Some(0) => {
                Ok(Some(first_line(&output.stdout)).filter(|id| ObjectId::new(id).is_some()))
            }
            Some(1) => Ok(None),
            _ => Err(failed("rev-parse", &output).into()),
        }
    }

    /// The tree without files: before the first commit, all files are changes.
    fn empty_tree(&self) -> Result<String, WorkTreeError> {
        let tree = self.run("hash-object", &["-t", "tree", "--stdin"])?;
        Ok(first_line(&tree))
    }

    /// The submodules below the directory, also those that are not checked out.
    fn submodules(&self) -> Result<Vec<PathBuf>, WorkTreeError> {
        let listed = self.run("ls-files", &["--stage", "-z", "--", "."])?;
        let submodules = entries(&listed).filter(|entry| entry.starts_with(b"160000 "));
        let paths = submodules.filter_map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            entry.get(tab + 1..).map(path)
        });
        Ok(paths.collect())
    }

    /// Whether files of a submodule differ from its own last commit.
    fn has_changes(&self, submodule: &Path) -> Result<bool, WorkTreeError> {
        let directory = self.directory.join(submodule);
        // One that is not checked out is an empty directory or none.
        if directory.join(".git").symlink_metadata().is_err() {
            return Ok(false);
        }
        match WorkTree::around(&self.program, &directory)? {
            Some(tree) if tree.prefix.is_empty() => {
                Ok(!tree.changed_from(&tree.base("HEAD")?)?.is_empty())
            }
            _ => Ok(false),
        }
    }

    fn paths(
        &self,
        command: &'static str,
        arguments: &[&str],
    ) -> Result<Vec<PathBuf>, WorkTreeError> {
        let output = self.run(command, arguments)?;
        // Repositories in the repository have a slash at their end.
        let names = entries(&output).map(|name| name.strip_suffix(b"/").unwrap_or(name));
        Ok(names.map(path).collect())
    }

    fn run(&self, command: &'static str, arguments: &[&str]) -> Result<Vec<u8>, WorkTreeError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        Ok(self.git.run(command, &arguments, b"")?)
    }
}

/// The nearest directory that has a `.git`, from a directory upwards.
fn repository_root(directory: &Path) -> Option<&Path> {
    let mut ancestors = directory.ancestors();
    ancestors.find(|ancestor| ancestor.join(".git").symlink_metadata().is_ok())
}

/// Why git cannot use the repository at a root directory. Git checks the owners of these.
fn unreadable(root: &Path, error: GitError) -> WorkTreeError {
    let git = root.join(".git");
    // A linked work tree and a submodule have a file that names their git directory.
    let link = std::fs::read_to_string(&git).unwrap_or_default();
    let linked = link.strip_prefix("gitdir: ").map(str::trim_end);
    let linked = linked.map(|linked| root.join(linked));
    let mut checked = [Some(root.to_owned()), Some(git), linked]
        .into_iter()
        .flatten();
    match checked.find_map(|path| foreign(&path)) {
        // `safe.directory` names the root.
        Some(ForeignDirectory { owner, .. }) => WorkTreeError::ForeignOwner(ForeignDirectory {
            path: root.to_owned(),
            owner,
        }),
        None => error.into(),
    }
}

#[cfg(unix)]
fn is_same_file_system(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => one.dev() == other.dev(),
        _ => true,
    }
}

#[cfg(not(unix))]
fn is_same_file_system(_one: &Path, _other: &Path) -> bool {
    true
}

/// What zero bytes separate.
fn entries(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let entries = output.split(|byte| *byte == 0);
    entries.filter(|entry| !entry.is_empty())
}

fn path(bytes: &[u8]) -> PathBuf {
    os_string(bytes.to_owned()).into()
}

fn first_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines().next().unwrap_or_default().to_owned()
}
