//! Directories that belong to this user alone, and the files in them.
//!
//! Everything is opened relative to a directory that was checked, and no symbolic link is followed: another user can neither
//! replace what is read nor direct what is written elsewhere.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::OpenResultsError;

/// The end of the names of files that are being written.
pub(super) const PARTIAL: &str = ".partial";

static NEXT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct PrivateDirectory {
    fd: OwnedFd,
}

impl PrivateDirectory {
    /// Opens a directory and checks it.
    pub(super) fn open(path: &Path) -> Result<PrivateDirectory, OpenResultsError> {
        let io_error = |error: Errno| OpenResultsError::Io {
            path: path.to_owned(),
            source: error.into(),
        };
        let fd = open_directory(CWD, path).map_err(io_error)?;
        let stat = rustix::fs::fstat(fd.as_fd()).map_err(io_error)?;
        match problem(&stat) {
            None => Ok(PrivateDirectory { fd }),
            Some(problem) => Err(OpenResultsError::NotPrivate {
                path: path.to_owned(),
                problem,
            }),
        }
    }

    /// A directory in this one; `None` if it does not exist or is not private.
    pub(super) fn existing(&self, name: &str) -> Option<PrivateDirectory> {
        let fd = open_directory(self.fd.as_fd(), Path::new(name)).ok()?;
        let stat = rustix::fs::fstat(fd.as_fd()).ok()?;
        problem(&stat).is_none().then_some(PrivateDirectory { fd })
    }

    /// A directory in this one, which is created if it does not exist.
    pub(super) fn made(&self, name: &str) -> io::Result<PrivateDirectory> {
        match rustix::fs::mkdirat(self.fd.as_fd(), name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let not_private = || io::Error::other(format!("the directory {name} is not private"));
        self.existing(name).ok_or_else(not_private)
    }

    /// The bytes of a file; `None` if it does not exist. It is an error if the file is too large or not private.
    pub(super) fn read(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(self.fd.as_fd(), name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stat = rustix::fs::fstat(fd.as_fd())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        if let Some(problem) = problem(&stat) {
            return Err(io::Error::other(problem));
        }
        let mut bytes = Vec::new();
        File::from(fd).take(limit + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > limit {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(Some(bytes)),
        }
    }

    /// Writes a file beside and renames it.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Processes in other containers can have the same number.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |now| now.as_nanos());
        let partial = format!("{}-{number}-{nanos}{PARTIAL}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let fd = rustix::fs::openat(self.fd.as_fd(), &partial, flags, mode)?;
        let written = File::from(fd).write_all(bytes).and_then(|()| {
            let fd = self.fd.as_fd();
            Ok(rustix::fs::renameat(fd, &partial, fd, name)?)
        });
        if written.is_err() {
            self.remove(&partial);
        }
        written
    }

    /// Opens a file to lock it or to set its time.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(self.fd.as_fd(), name, flags, mode)?.into())
    }

    pub(super) fn remove(&self, name: &str) {
        // What cannot be removed is not used either.
        let _ = rustix::fs::unlinkat(self.fd.as_fd(), name, AtFlags::empty());
    }

    /// Sets the time of a file to now, so that it is removed later than others.
    pub(super) fn note_use(&self, name: &str) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        // Without it the entry is only removed earlier.
        let _ = rustix::fs::utimensat(self.fd.as_fd(), name, &times, AtFlags::SYMLINK_NOFOLLOW);
    }

    /// The names in the directory, with size and time of last use; none if they cannot be listed.
    pub(super) fn files(&self) -> Vec<(String, Stat)> {
        let mut files = Vec::new();
        for entry in rustix::fs::Dir::read_from(self.fd.as_fd())
            .into_iter()
            .flatten()
            .flatten()
        {
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let stat = rustix::fs::statat(self.fd.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
            if let (Ok(stat), false) = (stat, matches!(name, "." | "..")) {
                files.push((name.to_owned(), stat));
            }
        }
        files
    }
}

fn open_directory(parent: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = PathBuf::from(path);
    rustix::fs::openat(parent, path, flags, Mode::empty())
}

/// Why another user could have changed or read something.
fn problem(stat: &Stat) -> Option<&'static str> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Some("it belongs to another user");
    }
    mode.intersects(Mode::RWXG | Mode::RWXO)
        .then_some("other users have access to it")
}
