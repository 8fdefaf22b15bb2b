//! Locking a package against other kiln commands.
//!
//! The lock is on the root directory itself, so that it leaves no file behind, and the kernel drops it when the
//! process ends, however that happens. It is advisory: editors and other tools do not see it. Where a file
//! system cannot lock directories (some network ones), commands work without.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// What a command does with a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Other commands may read too.
    Read,
    /// No other command may read or write.
    Write,
}

/// A locked package. Dropping it releases the lock.
#[derive(Debug)]
pub struct Lock {
    directory: File,
}

impl Lock {
    /// Locks the package at `root`; calls `on_wait` once if another command has it and waits until it is free.
    pub fn acquire(root: &Path, access: Access, on_wait: impl FnOnce()) -> io::Result<Lock> {
        let lock = Lock {
            directory: File::open(root)?,
        };
        lock.change(access, on_wait)?;
        Ok(lock)
    }

    /// Changes the kind of the lock. Another command may get the lock in between.
    pub fn change(&self, access: Access, on_wait: impl FnOnce()) -> io::Result<()> {
        let tried = match access {
            Access::Read => self.directory.try_lock_shared(),
            Access::Write => self.directory.try_lock(),
        };
        let outcome = match tried {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                on_wait();
                match access {
                    Access::Read => self.directory.lock_shared(),
                    Access::Write => self.directory.lock(),
                }
            }
            Err(TryLockError::Error(error)) => Err(error),
        };
        match outcome {
            Err(error) if is_unsupported(&error) => Ok(()),
            outcome => outcome,
        }
    }
}

/// Whether the file system cannot lock directories: NFS wants a handle for writing, others report it.
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error.kind() == io::ErrorKind::Unsupported
        || [Errno::BADF, Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_writer_waits_for_readers_and_says_so() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let never = || panic!("no other command has the lock");
        let first = Lock::acquire(root.path(), Access::Read, never).expect("locks");
        let second = Lock::acquire(root.path(), Access::Read, never).expect("locks");
        let written = AtomicBool::new(false);
        let (waiting, waits) = mpsc::channel();
        std::thread::scope(|scope| {
            let written = &written;
            let path = root.path();
            scope.spawn(move || {
                let on_wait = || waiting.send(()).expect("the test listens");
                let _lock = Lock::acquire(path, Access::Write, on_wait).expect("locks");
                written.store(true, Ordering::SeqCst);
            });
            waits.recv().expect("the writer has to wait");
            assert!(!written.load(Ordering::SeqCst));
            drop((first, second));
        });
        assert!(written.load(Ordering::SeqCst));
    }
}
