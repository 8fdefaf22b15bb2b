//! A package's directory tree and how a path in it is walked.
//!
//! Paths come from annotations, links and journals and are not trusted: they are split into
//! components, and each is opened in the directory that is already open. A path's own directories must be
//! real directories. A link at its end is followed as long as it stays in the package.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use kiln_krm::parallel::{Worth, try_map};
use thiserror::Error;

use crate::dir::{Dir, EntryType, Meta, Steps};
use crate::read::available_threads;

/// Why a path in a package cannot be used.
#[derive(Debug, Error)]
pub enum PathError {
    /// The path has no components.
    #[error("the path is empty")]
    Empty,
    /// The path has a byte that no file name can have.
    #[error("the path holds a NUL byte")]
    Nul,
    /// The path begins at the root of the file system.
    #[error("package paths may not be absolute paths")]
    Absolute,
    /// The path has a `..` component.
    #[error("the path leads out of the package")]
    Outside,
    /// A directory on the way is a symbolic link.
    #[error("{0} is a symbolic link, and linked directories are not entered")]
    LinkedDirectory(String),
    /// A symbolic link in the package points to something that is not in it.
    #[error("it is a symbolic link that leads out of the package, to {0}")]
    LinkLeadsOut(String),
    /// Links point to links without end.
    #[error("too many levels of symbolic links")]
    TooManyLinks,
    /// The path of a file is a directory.
    #[error("config.kubernetes.io/path cannot be a directory: {0}")]
    IsDirectory(String),
    /// The path of a directory is a file.
    #[error("{0} is not a directory")]
    NotADirectory(String),
    /// The path of a file is a pipe, socket or device.
    #[error("not a regular file")]
    NotAFile,
    /// The operating system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The most links followed for one path, as in Linux.
const MOST_LINKS: usize = 40;

/// How many files of a list one thread takes at a time.
const NEIGHBOURS: usize = 32;

/// A package's root directory, held open.
pub(crate) struct PackageTree {
    root: Dir,
    /// The root's path without links, to recognise links that come back into the package.
    path: PathBuf,
}

/// Walks a tree for many paths, keeping the directory of the last one open.
///
/// For one pass over sorted paths: changes of the directories meanwhile need not be noticed.
pub(crate) struct Walker<'t> {
    tree: &'t PackageTree,
    last: Option<(Vec<OsString>, Dir)>,
}

/// A path's components below the root. Never empty, never `.` or `..`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct PackagePath(Vec<OsString>);

/// The file of a path: the deepest directory that exists, and what is missing below it.
pub(crate) struct ResolvedPath {
    /// The path of the file itself, links resolved.
    pub(crate) path: PackagePath,
    /// The directory that the file is in, unless directories are missing on the way.
    pub(crate) dir: Dir,
    /// How many directories at the end of `path` do not exist.
    pub(crate) missing: usize,
    /// The existing regular file, if any.
    pub(crate) old: Option<Meta>,
}

impl PackagePath {
    /// Checks a path as written in an annotation, a change or a file source.
    pub(crate) fn new(path: &str) -> Result<PackagePath, PathError> {
        PackagePath::from_os(OsStr::new(path))
    }

    pub(crate) fn from_os(path: &OsStr) -> Result<PackagePath, PathError> {
        if path.as_bytes().contains(&0) {
            return Err(PathError::Nul);
        }
        let mut components = Vec::new();
        for component in Path::new(path).components() {
            match component {
                Component::Normal(name) => components.push(name.to_owned()),
                Component::CurDir => {}
                Component::ParentDir => return Err(PathError::Outside),
                Component::RootDir | Component::Prefix(_) => return Err(PathError::Absolute),
            }
        }
        match components.is_empty() {
            true => Err(PathError::Empty),
            false => Ok(PackagePath(components)),
        }
    }

    pub(crate) fn components(&self) -> &[OsString] {
        &self.0
    }

    /// The components of the directory that the path is in.
    pub(crate) fn directories(&self) -> &[OsString] {
        self.0.split_last().map_or(&[], |(_, dirs)| dirs)
    }

    pub(crate) fn name(&self) -> &OsStr {
        self.0.last().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// The path of a parent directory: the first `count` components; `None` for the root.
    pub(crate) fn ancestor(&self, count: usize) -> Option<PackagePath> {
        let components = self.0.get(..count)?;
        (!components.is_empty()).then(|| PackagePath(components.to_vec()))
    }

    /// The path as one string for the operating system.
    pub(crate) fn to_path(&self) -> PathBuf {
        self.0.iter().collect()
    }

    /// The path for messages.
    pub(crate) fn show(&self) -> String {
        self.to_path().to_string_lossy().into_owned()
    }
}

impl PackageTree {
    /// Opens a package; `path` may be or go through links, because the user named it.
    pub(crate) fn open(path: &Path, steps: Steps) -> io::Result<PackageTree> {
        let path = std::fs::canonicalize(path)?;
        let root = Dir::open(&path, steps)?;
        Ok(PackageTree { root, path })
    }

    pub(crate) fn root(&self) -> &Dir {
        &self.root
    }

    /// The root's path without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory whose components are all directories themselves.
    pub(crate) fn directory(&self, components: &[OsString]) -> Result<Dir, PathError> {
        let (dir, missing) = self.walk(components)?;
        existing(dir, missing)
    }

    /// Begins a pass over many paths.
    pub(crate) fn walker(&self) -> Walker<'_> {
        Walker {
            tree: self,
            last: None,
        }
    }

    /// Maps a list of files, in order and on several threads if there are many. Of several failures the first by index is returned.
    pub(crate) fn try_map<T: Sync, R: Send, E: Send>(
        &self,
        files: &[T],
        work: impl Fn(&mut Walker<'_>, &T) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        // Neighbours mostly are in one directory, which a walker opens once.
        let runs = files.chunks(NEIGHBOURS).collect();
        let mapped = try_map(runs, available_threads(), Worth::Files, |run: &[T]| {
            let mut walker = self.walker();
            run.iter()
                .map(|file| work(&mut walker, file))
                .collect::<Result<Vec<R>, E>>()
        })?;
        Ok(mapped.into_iter().flatten().collect())
    }

    /// The deepest existing directory on the way, and how many components after it do not exist.
    fn walk(&self, components: &[OsString]) -> Result<(Dir, usize), PathError> {
        let mut dir = self.root.clone();
        for (place, name) in components.iter().enumerate() {
            match dir.open_dir(name) {
                Ok(next) => dir = next,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok((dir, components.len() - place));
                }
                Err(error) => {
                    let shown = || {
                        let path: PathBuf = components.iter().take(place + 1).collect();
                        path.to_string_lossy().into_owned()
                    };
                    return Err(match dir.meta(name)?.map(|meta| meta.kind) {
                        Some(EntryType::Symlink) => PathError::LinkedDirectory(shown()),
                        Some(EntryType::File | EntryType::Other) => {
                            PathError::NotADirectory(shown())
                        }
                        _ => PathError::Io(error),
                    });
                }
            }
        }
        Ok((dir, 0))
    }

    /// Follows the link at the end of a path to a file in the package, which need not exist.
    pub(crate) fn follow(&self, path: &PackagePath) -> Result<ResolvedPath, PathError> {
        let root: Vec<&OsStr> = normal_components(&self.path);
        // Directories of the package on the way, and how many of the root's own components `..` has undone.
        let mut stack: Vec<(OsString, Dir)> = Vec::new();
        let mut above = 0;
        // The components that are left, last one first.
        let mut pending: Vec<OsString> = path.0.iter().rev().cloned().collect();
        let mut links = 0;
        let mut last_target = OsString::new();
        while let Some(name) = pending.pop() {
            if name == ".." {
                if stack.pop().is_none() {
                    above = (above + 1).min(root.len());
                }
                continue;
            }
            if above > 0 {
                if root.get(root.len() - above) != Some(&name.as_os_str()) {
                    return Err(PathError::LinkLeadsOut(
                        last_target.to_string_lossy().into_owned(),
                    ));
                }
                above -= 1;
                continue;
            }
            let dir = stack.last().map_or(&self.root, |(_, dir)| dir);
            let meta = dir.meta(&name)?;
            match meta.map(|meta| meta.kind) {
                Some(EntryType::Symlink) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(PathError::TooManyLinks);
                    }
                    last_target = dir.read_link(&name)?;
                    if last_target.as_bytes().starts_with(b"/") {
                        stack.clear();
                        above = root.len();
                    }
                    push_reversed(&mut pending, Path::new(&last_target));
                }
                Some(EntryType::Directory) => {
                    let opened = dir.open_dir(&name)?;
                    stack.push((name, opened));
                }
                Some(EntryType::Other) => return Err(PathError::NotAFile),
                Some(EntryType::File) | None if pending.is_empty() => {
                    let dir = dir.clone();
                    let mut components: Vec<OsString> =
                        stack.into_iter().map(|(name, _)| name).collect();
                    components.push(name);
                    return Ok(ResolvedPath {
                        path: PackagePath(components),
                        dir,
                        missing: 0,
                        old: meta,
                    });
                }
                Some(EntryType::File) => return Err(PathError::NotADirectory(path.show())),
                None => return Err(PathError::Io(io::ErrorKind::NotFound.into())),
            }
        }
        match above {
            0 => Err(PathError::IsDirectory(path.show())),
            _ => Err(PathError::LinkLeadsOut(
                last_target.to_string_lossy().into_owned(),
            )),
        }
    }
}

impl Walker<'_> {
    /// Opens a directory whose components are all directories themselves.
    pub(crate) fn directory(&mut self, components: &[OsString]) -> Result<Dir, PathError> {
        let (dir, missing) = self.walk(components)?;
        existing(dir, missing)
    }

    /// Resolves the path of a file to write.
    pub(crate) fn place(&mut self, path: PackagePath) -> Result<ResolvedPath, PathError> {
        let (dir, missing) = self.walk(path.directories())?;
        if missing > 0 {
            return Ok(ResolvedPath {
                path,
                dir,
                missing,
                old: None,
            });
        }
        let old = dir.meta(path.name())?;
        match old.map(|meta| meta.kind) {
            None | Some(EntryType::File) => Ok(ResolvedPath {
                path,
                dir,
                missing: 0,
                old,
            }),
            Some(EntryType::Directory) => Err(PathError::IsDirectory(path.show())),
            Some(EntryType::Other) => Err(PathError::NotAFile),
            Some(EntryType::Symlink) => self.tree.follow(&path),
        }
    }

    fn walk(&mut self, components: &[OsString]) -> Result<(Dir, usize), PathError> {
        if let Some((last, dir)) = &self.last
            && last == components
        {
            return Ok((dir.clone(), 0));
        }
        let (dir, missing) = self.tree.walk(components)?;
        if missing == 0 {
            self.last = Some((components.to_vec(), dir.clone()));
        }
        Ok((dir, missing))
    }
}

/// A directory that was walked to, if nothing was missing on the way.
fn existing(dir: Dir, missing: usize) -> Result<Dir, PathError> {
    match missing {
        0 => Ok(dir),
        _ => Err(PathError::Io(io::ErrorKind::NotFound.into())),
    }
}

fn normal_components(path: &Path) -> Vec<&OsStr> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect()
}

fn push_reversed(pending: &mut Vec<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => pending.push(name.to_owned()),
            Component::ParentDir => pending.push("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}
