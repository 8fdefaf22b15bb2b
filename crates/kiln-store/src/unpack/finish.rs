//! Completes an unpacked image: mount points, times of directories, and the record of its files.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kiln_oci::RunConfig;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::Unpacker;
use super::error::{UnpackError, UnpackProblem, UnpackStep};
use super::write_file::system_time;
use crate::meta::SkippedEntry;
use crate::record::{ContentHash, FileRecord, RecordVisitor, hash_file};

/// Directories that a running image needs, whether it has them or not. The root is read-only then.
const MOUNT_POINTS: [&str; 4] = ["proc", "dev", "sys", "tmp"];
/// Files that are mounted with the network of the host.
const MOUNTED_FILES: [&str; 2] = ["hosts", "resolv.conf"];

/// What the config of an image may ask for.
const MAX_VOLUMES: usize = 128;
const MAX_PATH: usize = 4096;

/// An image whose layers are unpacked.
pub(crate) struct UnpackedRoot {
    pub(crate) root: OwnedFd,
    pub(crate) record: FileRecord,
    pub(crate) skipped: Vec<SkippedEntry>,
}

impl Unpacker {
    /// Creates the directories and files of a running image that it does not have. Comes after the last layer.
    pub fn add_mount_points(&mut self, run: &RunConfig) -> Result<(), UnpackError> {
        self.make_mount_points(run).map_err(completion_error)
    }

    /// Records all files, and sets the times of directories.
    pub(crate) fn finish(self) -> Result<UnpackedRoot, UnpackError> {
        let completion_error = |error: io::Error| completion_error(error.into());
        let root = self.tree.root().try_clone_to_owned();
        let root = root.map_err(completion_error)?;
        let mut visitor = Completion { unpacker: &self };
        let record = FileRecord::of(root.as_fd(), &mut visitor).map_err(completion_error)?;
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

impl Unpacker {
    /// Creates mount points that the image does not have. They count as entries of the image.
    fn make_mount_points(&mut self, run: &RunConfig) -> Result<(), UnpackProblem> {
        check_paths(run)?;
        for name in MOUNT_POINTS {
            remove_obstacle(self.tree.root(), name)?;
            self.add_directory(name.as_bytes())?;
        }
        for path in run.volumes.iter().chain([&run.working_dir]) {
            self.add_directory(path.as_bytes())?;
        }
        let Some(etc) = self.add_directory(b"etc")? else {
            return Ok(());
        };
        for name in MOUNTED_FILES {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o644);
            self.budget.count_entry()?;
            match rustix::fs::openat(&etc, name, flags, mode) {
                Ok(file) => {
                    rustix::fs::fchmod(&file, mode)?;
                    // The inode may be one that a removed file had before.
                    self.hashes.remove(&rustix::fs::fstat(&file)?.st_ino);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Creates a directory; `None` if the image has something else there.
    fn add_directory(&mut self, path: &[u8]) -> Result<Option<OwnedFd>, UnpackProblem> {
        match self.tree.make_directories(path, &mut self.budget) {
            Err(UnpackProblem::Name(_)) => Ok(None),
            Err(UnpackProblem::Io(error)) if is_invalid_name(&error) => Ok(None),
            made => made.map(Some),
        }
    }
}

pub(crate) fn completion_error(source: UnpackProblem) -> UnpackError {
    UnpackError {
        step: UnpackStep::Completion,
        source,
    }
}

/// Limits the paths of the config, which are not entries of a layer.
fn check_paths(run: &RunConfig) -> Result<(), UnpackProblem> {
    if run.volumes.len() > MAX_VOLUMES {
        return Err(UnpackProblem::Config("Volumes has more than 128 paths"));
    }
    if run.volumes.iter().any(|path| path.len() > MAX_PATH) {
        let problem = "Volumes has a path of more than 4096 bytes";
        return Err(UnpackProblem::Config(problem));
    }
    match run.working_dir.len() > MAX_PATH {
        true => Err(UnpackProblem::Config("WorkingDir has more than 4096 bytes")),
        false => Ok(()),
    }
}

/// Removes what is not a directory where the system mounts one. `tmp` may be a link.
fn remove_obstacle(root: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    if name == "tmp" {
        return Ok(());
    }
    match rustix::fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
            Ok(rustix::fs::unlinkat(root, name, AtFlags::empty())?)
        }
        _ => Ok(()),
    }
}

/// Whether a name is invalid. A run reports that, like a path that leads to something else.
fn is_invalid_name(error: &io::Error) -> bool {
    [Errno::NAMETOOLONG, Errno::INVAL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
