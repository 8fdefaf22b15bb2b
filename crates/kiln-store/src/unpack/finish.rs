//! Completes an unpacked image: mount points, times of directories, and the record of its files.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kiln_oci::RunConfig;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::Unpacker;
use super::write_file::system_time;
use crate::in_root;
use crate::meta::SkippedEntry;
use crate::record::{ContentHash, FileRecord, RecordVisitor, hash_file};

/// Directories that a running image needs, whether it has them or not. The root is read-only then.
const MOUNT_POINTS: [&str; 4] = ["proc", "dev", "sys", "tmp"];
/// Files that are mounted with the network of the host.
const MOUNTED_FILES: [&str; 2] = ["hosts", "resolv.conf"];

/// An image whose layers are unpacked.
pub(crate) struct UnpackedRoot {
    pub(crate) root: OwnedFd,
    pub(crate) record: FileRecord,
    pub(crate) skipped: Vec<SkippedEntry>,
}

impl Unpacker {
    /// Creates what a running image needs, and records all files.
    pub(crate) fn finish(mut self, run: &RunConfig) -> io::Result<UnpackedRoot> {
        let root = self.tree.root().try_clone_to_owned()?;
        let mut added = AddedInodes::default();
        added.add_mount_points(root.as_fd(), run)?;
        // An inode may be one that a removed file or directory had before.
        for inode in added.inodes {
            self.hashes.remove(&inode);
            self.tree.directory_times.remove(&inode);
        }
        let mut visitor = Completion { unpacker: &self };
        let record = FileRecord::of(root.as_fd(), &mut visitor)?;
        Ok(UnpackedRoot {
            root,
            record,
            skipped: self.skipped,
        })
    }
}

/// Knows the hashes of files, and sets the times of directories.
struct Completion<'a> {
    unpacker: &'a Unpacker,
}

impl RecordVisitor for Completion<'_> {
    fn hash(
        &mut self,
        stat: &Stat,
        open: &mut dyn FnMut() -> io::Result<std::fs::File>,
    ) -> io::Result<ContentHash> {
        match self.unpacker.hashes.get(&stat.st_ino) {
            Some(hash) => Ok(hash.clone()),
            None => hash_file(open()?),
        }
    }

    fn leave(&mut self, directory: BorrowedFd<'_>, stat: &Stat) -> io::Result<()> {
        let Some(modified) = self.unpacker.tree.directory_times.get(&stat.st_ino) else {
            return Ok(());
        };
        let since = system_time(*modified).duration_since(std::time::UNIX_EPOCH);
        let time = Timespec {
            tv_sec: since.map_or(0, |since| since.as_secs().cast_signed()),
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        Ok(rustix::fs::futimens(directory, &times)?)
    }
}

/// The inodes of what was added to the image.
#[derive(Default)]
struct AddedInodes {
    inodes: Vec<u64>,
}

impl AddedInodes {
    /// Creates mount points that the image does not have.
    fn add_mount_points(&mut self, root: BorrowedFd<'_>, run: &RunConfig) -> io::Result<()> {
        for name in MOUNT_POINTS {
            self.add_directory(root, name.as_bytes())?;
        }
        for path in run.volumes.iter().chain([&run.working_dir]) {
            self.add_directory(root, path.as_bytes())?;
        }
        let etc = match self.make_directories(root, b"etc") {
            Err(error) if is_obstructed(&error) => return Ok(()),
            etc => etc?,
        };
        for name in MOUNTED_FILES {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o644);
            match rustix::fs::openat(&etc, name, flags, mode) {
                Ok(file) => {
                    rustix::fs::fchmod(&file, mode)?;
                    self.inodes.push(rustix::fs::fstat(&file)?.st_ino);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Creates a directory unless the image has something there. `proc`, `dev` and `sys` must not be links.
    fn add_directory(&mut self, root: BorrowedFd<'_>, path: &[u8]) -> io::Result<()> {
        let is_kernel = matches!(path, b"proc" | b"dev" | b"sys");
        if is_kernel {
            match rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
                    rustix::fs::unlinkat(root, path, AtFlags::empty())?;
                }
                _ => {}
            }
        }
        match self.make_directories(root, path) {
            Err(error) if is_obstructed(&error) => Ok(()),
            made => made.map(drop),
        }
    }

    fn make_directories(&mut self, root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
        let mut create = |parent: BorrowedFd<'_>, name: &[u8]| {
            rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
            let directory = super::tree::set_mode(parent, name, 0o755)?;
            self.inodes.push(rustix::fs::fstat(&directory)?.st_ino);
            Ok(directory)
        };
        in_root::create_directories::<io::Error>(root, path, &mut create)
    }
}

/// Whether the image has something else in the place of a directory, or a name is invalid. Then a run reports the error.
fn is_obstructed(error: &io::Error) -> bool {
    [Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG, Errno::INVAL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
