//! Locks between processes: `flock` on files that may be removed while they are unlocked.
//!
//! The kernel releases a lock when its process ends, however that happens. A lock counts only if its file still has its
//! name after it was locked: the previous holder may have removed the file.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::cancel::CancelFlag;

/// Which other locks a lock excludes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockMode {
    /// Excludes exclusive locks.
    Shared,
    /// Excludes all other locks.
    Exclusive,
}

/// How often a lock that another process has is tried.
const RETRY: Duration = Duration::from_millis(20);

/// A locked file. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Locks a file, which is created if it does not exist. Waits for other locks, until it is cancelled.
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel can wait for a lock, but nothing can end that"
    )]
    pub(crate) fn acquire(
        path: &Path,
        mode: LockMode,
        cancel: &CancelFlag,
    ) -> io::Result<FileLock> {
        loop {
            cancel.check()?;
            match FileLock::try_acquire(path, mode)? {
                Some(lock) => return Ok(lock),
                None => std::thread::sleep(RETRY),
            }
        }
    }

    /// Locks a file, which is created if it does not exist. `None` if another lock excludes this one.
    pub(crate) fn try_acquire(path: &Path, mode: LockMode) -> io::Result<Option<FileLock>> {
        loop {
            let file = create(path)?;
            if !try_lock(&file, mode)? {
                return Ok(None);
            }
            if has_name(&file, path)? {
                return Ok(Some(FileLock { file }));
            }
        }
    }

    /// Locks a file that exists, for reading only. Waits for other locks.
    pub(crate) fn acquire_existing(path: &Path, mode: LockMode) -> io::Result<FileLock> {
        loop {
            let file = File::open(path)?;
            wait_for_lock(&file, mode)?;
            if has_name(&file, path)? {
                return Ok(FileLock { file });
            }
        }
    }

    /// Locks a file that exists. `None` if another lock excludes this one.
    pub(crate) fn try_acquire_existing(path: &Path) -> io::Result<Option<FileLock>> {
        let file = File::options().read(true).write(true).open(path)?;
        let is_locked = try_lock(&file, LockMode::Exclusive)? && has_name(&file, path)?;
        Ok(is_locked.then_some(FileLock { file }))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(fd.into())
}

fn wait_for_lock(file: &File, mode: LockMode) -> io::Result<()> {
    loop {
        let locked = match mode {
            LockMode::Shared => file.lock_shared(),
            LockMode::Exclusive => file.lock(),
        };
        match locked {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

fn try_lock(file: &File, mode: LockMode) -> io::Result<bool> {
    let locked = match mode {
        LockMode::Shared => file.try_lock_shared(),
        LockMode::Exclusive => file.try_lock(),
    };
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether an open file still has its name.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let own = rustix::fs::fstat(file.as_fd())?;
    match rustix::fs::lstat(path) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
