//! The directory that layers are unpacked into.
//!
//! A parent is found inside the root and held open; the last component of a path is only used with system calls that follow
//! no link. What is in the way is removed first, never written through.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::UnpackProblem;
use super::limits::Budget;
use super::path::EntryPath;
use crate::in_root;
use crate::record::{open_directory, sorted_names};
use crate::remove_tree::remove_tree;

/// How many open directories are kept.
const MAX_OPEN: usize = 64;
const IMPLIED_MODE: u32 = 0o755;

/// An open directory of the image.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) fd: OwnedFd,
    pub(super) inode: u64,
    depth: u32,
}

/// The root of an image.
#[derive(Debug)]
pub(super) struct Tree {
    root: OwnedFd,
    /// Parents of entries by path. Cleared when a directory or a link is removed, because paths may lead elsewhere then.
    open: HashMap<Vec<u8>, Arc<Directory>>,
    /// How deep every directory is, by inode. Links make paths shorter than that.
    depths: HashMap<u64, u32>,
    /// The times of directories by inode. They are set at the end, because every new entry changes them.
    pub(super) directory_times: HashMap<u64, i64>,
    present: PresentLayer,
}

/// What is known about the layer that is being unpacked.
#[derive(Default, Debug)]
struct PresentLayer {
    /// The names that it brought, each with the inode of its directory.
    brought: HashSet<(u64, Vec<u8>)>,
    /// The inodes of directories in which lower layers have nothing. That stays so: what comes later is of this layer.
    without_lower: HashSet<u64>,
}

impl Tree {
    pub(super) fn new(root: OwnedFd) -> io::Result<Tree> {
        let inode = rustix::fs::fstat(&root)?.st_ino;
        Ok(Tree {
            root,
            open: HashMap::new(),
            depths: HashMap::from([(inode, 0)]),
            directory_times: HashMap::new(),
            present: PresentLayer::default(),
        })
    }

    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Starts the next layer.
    pub(super) fn begin_layer(&mut self) {
        self.present = PresentLayer::default();
    }

    /// The directory of an entry, which is created if it does not exist.
    pub(super) fn parent(
        &mut self,
        path: &EntryPath,
        budget: &mut Budget,
    ) -> Result<Arc<Directory>, UnpackProblem> {
        if let Some(directory) = self.existing_parent(path)? {
            return Ok(directory);
        }
        let fd = self.make_directories(path.parent(), budget)?;
        Ok(self.keep_open(path.parent(), fd)?)
    }

    /// Opens a directory. What is missing on the way to it is created.
    pub(super) fn make_directories(
        &mut self,
        path: &[u8],
        budget: &mut Budget,
    ) -> Result<OwnedFd, UnpackProblem> {
        let Tree {
            root,
            depths,
            directory_times,
            present,
            ..
        } = self;
        let mut create = |parent: BorrowedFd<'_>, name: &[u8]| {
            let parent_inode = rustix::fs::fstat(parent)?.st_ino;
            let depth = depths.get(&parent_inode).copied().unwrap_or(0) + 1;
            budget.count_entry()?;
            budget.check_depth(depth)?;
            rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
            let directory = set_mode(parent, name, IMPLIED_MODE)?;
            let inode = rustix::fs::fstat(&directory)?.st_ino;
            depths.insert(inode, depth);
            // A removed directory may have had this inode.
            directory_times.remove(&inode);
            present.brought.insert((parent_inode, name.to_vec()));
            present.without_lower.insert(inode);
            Ok::<OwnedFd, UnpackProblem>(directory)
        };
        let created = in_root::create_directories(root.as_fd(), path, &mut create);
        created.map_err(parent_problem)
    }

    /// The directory of an entry. `None` if it does not exist.
    pub(super) fn existing_parent(
        &mut self,
        path: &EntryPath,
    ) -> Result<Option<Arc<Directory>>, UnpackProblem> {
        if let Some(directory) = self.open.get(path.parent()) {
            return Ok(Some(Arc::clone(directory)));
        }
        match in_root::open_directory(self.root.as_fd(), path.parent()) {
            Ok(fd) => Ok(Some(self.keep_open(path.parent(), fd)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(parent_problem(error.into())),
        }
    }

    fn keep_open(&mut self, path: &[u8], fd: OwnedFd) -> io::Result<Arc<Directory>> {
        let inode = rustix::fs::fstat(&fd)?.st_ino;
        let directory = Arc::new(Directory {
            fd,
            inode,
            depth: self.depths.get(&inode).copied().unwrap_or(0),
        });
        if self.open.len() >= MAX_OPEN {
            self.open.clear();
        }
        self.open.insert(path.to_vec(), Arc::clone(&directory));
        Ok(directory)
    }

    /// Creates a directory, or changes the mode of an existing one. Returns its inode.
    pub(super) fn make_directory(
        &mut self,
        parent: &Directory,
        name: &[u8],
        mode: u32,
        budget: &Budget,
    ) -> Result<u64, UnpackProblem> {
        let existing = stat(parent, name)?;
        let is_directory = |stat: &Stat| file_type(stat) == FileType::Directory;
        let is_new = !existing.as_ref().is_some_and(is_directory);
        if is_new {
            budget.check_depth(parent.depth + 1)?;
            if existing.is_some() {
                self.remove(parent, name)?;
            }
            rustix::fs::mkdirat(&parent.fd, name, Mode::RWXU)?;
        }
        let directory = set_mode(parent.fd.as_fd(), name, mode)?;
        let inode = rustix::fs::fstat(&directory)?.st_ino;
        self.depths.insert(inode, parent.depth + 1);
        self.bring(parent, name);
        if is_new {
            self.present.without_lower.insert(inode);
        }
        Ok(inode)
    }

    /// Creates an empty file in place of what has its name.
    pub(super) fn create_file(
        &mut self,
        parent: &Directory,
        name: &[u8],
    ) -> io::Result<std::fs::File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let fd = self.replace(parent, name, || {
            rustix::fs::openat(&parent.fd, name, flags, mode)
        })?;
        self.bring(parent, name);
        Ok(fd.into())
    }

    /// Creates a symbolic link in place of what has its name.
    pub(super) fn make_symlink(
        &mut self,
        parent: &Directory,
        name: &[u8],
        target: &[u8],
    ) -> io::Result<()> {
        self.replace(parent, name, || {
            rustix::fs::symlinkat(target, &parent.fd, name)
        })?;
        self.bring(parent, name);
        Ok(())
    }

    /// Gives a regular file of the image another name, in place of what has that name.
    pub(super) fn make_hard_link(
        &mut self,
        parent: &Directory,
        name: &[u8],
        target: &EntryPath,
    ) -> Result<(), UnpackProblem> {
        let missing = || UnpackProblem::LinkTarget("there is no such file in the image");
        let target_parent = self.existing_parent(target)?.ok_or_else(missing)?;
        let target_name = target.name();
        let stat = stat(&target_parent, target_name)?.ok_or_else(missing)?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(UnpackProblem::LinkTarget("it is not a regular file"));
        }
        if (target_parent.inode, target_name) == (parent.inode, name) {
            return Err(UnpackProblem::LinkTarget("it is the link itself"));
        }
        self.replace(parent, name, || {
            rustix::fs::linkat(
                &target_parent.fd,
                target_name,
                &parent.fd,
                name,
                AtFlags::empty(),
            )
        })?;
        self.bring(parent, name);
        Ok(())
    }

    /// Removes what has a name, because an entry that is not unpacked takes its place.
    pub(super) fn clear(&mut self, parent: &Directory, name: &[u8]) -> io::Result<()> {
        match stat(parent, name)? {
            Some(_) => self.remove(parent, name),
            None => Ok(()),
        }
    }

    /// Removes what lower layers have under a name. What this layer brought stays.
    pub(super) fn remove_lower(&mut self, parent: &Directory, name: &[u8]) -> io::Result<()> {
        self.open.clear();
        let Some(stat) = stat(parent, name)? else {
            return Ok(());
        };
        self.present
            .remove_lower(parent.fd.as_fd(), parent.inode, name, &stat)
    }

    /// Removes what lower layers have in a directory. What this layer brought stays.
    pub(super) fn remove_lower_entries(&mut self, directory: &Directory) -> io::Result<()> {
        if !self.present.without_lower.insert(directory.inode) {
            return Ok(());
        }
        let readable = open_directory(directory.fd.as_fd(), c".")?;
        for name in sorted_names(readable.as_fd())? {
            self.remove_lower(directory, name.to_bytes())?;
        }
        Ok(())
    }

    fn bring(&mut self, parent: &Directory, name: &[u8]) {
        self.present.brought.insert((parent.inode, name.to_vec()));
    }

    /// Creates an entry, after what has its name was removed.
    fn replace<T>(
        &mut self,
        parent: &Directory,
        name: &[u8],
        create: impl Fn() -> Result<T, Errno>,
    ) -> io::Result<T> {
        match create() {
            Err(Errno::EXIST) => {
                self.remove(parent, name)?;
                Ok(create()?)
            }
            created => Ok(created?),
        }
    }

    /// Removes an entry; a directory with everything in it.
    fn remove(&mut self, parent: &Directory, name: &[u8]) -> io::Result<()> {
        match rustix::fs::unlinkat(&parent.fd, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {
                self.open.clear();
                remove_tree(parent.fd.as_fd(), name)
            }
            removed => {
                self.open.clear();
                Ok(removed?)
            }
        }
    }
}

/// The error of a parent that cannot be reached.
fn parent_problem(problem: UnpackProblem) -> UnpackProblem {
    match problem {
        UnpackProblem::Io(error) if error.kind() == io::ErrorKind::NotADirectory => {
            UnpackProblem::Name("a parent is not a directory")
        }
        UnpackProblem::Io(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            UnpackProblem::Name("a parent is a loop of links")
        }
        problem => problem,
    }
}

/// The metadata of an entry, links not followed. `None` if it does not exist.
fn stat(parent: &Directory, name: &[u8]) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(&parent.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Sets the mode of a directory, so that its owner can always use it, and opens it.
pub(super) fn set_mode(parent: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    rustix::fs::fchmod(&directory, Mode::from_raw_mode((mode & 0o777) | 0o700))?;
    Ok(directory)
}

impl PresentLayer {
    /// Removes what lower layers have under a name. Each directory is listed once for all whiteouts of a layer.
    fn remove_lower(
        &mut self,
        parent: BorrowedFd<'_>,
        parent_inode: u64,
        name: &[u8],
        stat: &Stat,
    ) -> io::Result<()> {
        let is_brought = self.brought.contains(&(parent_inode, name.to_vec()));
        if file_type(stat) != FileType::Directory {
            if !is_brought {
                rustix::fs::unlinkat(parent, name, AtFlags::empty())?;
            }
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if self.without_lower.insert(stat.st_ino) {
            let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
            for entry in sorted_names(directory.as_fd())? {
                let entry: &CStr = &entry;
                let child = rustix::fs::statat(&directory, entry, AtFlags::SYMLINK_NOFOLLOW)?;
                let (directory, inode) = (directory.as_fd(), stat.st_ino);
                self.remove_lower(directory, inode, entry.to_bytes(), &child)?;
            }
        }
        if is_brought {
            return Ok(());
        }
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            // Something in it was brought.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            removed => Ok(removed?),
        }
    }
}
