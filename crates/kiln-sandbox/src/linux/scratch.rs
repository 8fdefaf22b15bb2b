//! Private directories, one per run.
//!
//! Most functions leave their directory unchanged, and making one can take longer than the function. A directory that
//! cannot be distinguished from a new one is used again; any other is removed with everything in it.
//!
//! All directories of a sandbox are in one directory that is locked as long as the sandbox exists. The kernel releases
//! the lock of a killed program, so the next one knows what it may remove.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{
    CWD, Dir, FlockOperation, Gid, Mode, OFlags, Stat, Uid, chown, fchmod, flistxattr, flock,
    fstat, mkdir, openat, stat,
};
use rustix::io::Errno;
use rustix::process::{geteuid, getpid};

use super::cleanup::remove_tree;
use super::identity::Users;
use crate::measure::SandboxError;

/// The prefix of the names of locked directories.
const PREFIX: &str = "kiln-sandbox-";

/// Names that are in use before we give up.
const ATTEMPTS: u64 = 1000;

/// The parent of the private directories of a sandbox.
pub(super) struct ScratchRoot {
    path: PathBuf,
    /// The owners; this user if not given.
    owners: Option<Users>,
    slots: Arc<Slots>,
    _locked: OwnedFd,
}

impl ScratchRoot {
    /// Makes one in `temporary` and removes abandoned ones there.
    pub(super) fn new(
        temporary: &Path,
        owners: Option<Users>,
    ) -> Result<ScratchRoot, SandboxError> {
        let failed = |source| SandboxError::Scratch {
            path: temporary.to_owned(),
            source,
        };
        let temporary = temporary.canonicalize().map_err(failed)?;
        sweep(&temporary);
        // The process may have several sandboxes, and other containers may have processes with our ID.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..ATTEMPTS {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{number}", getpid().as_raw_nonzero());
            let path = temporary.join(name);
            match lock_new(&path) {
                Ok(locked) => {
                    return Ok(ScratchRoot {
                        path,
                        owners,
                        slots: Arc::default(),
                        _locked: locked,
                    });
                }
                Err(Errno::EXIST | Errno::WOULDBLOCK | Errno::NOENT) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Err(failed(io::ErrorKind::AlreadyExists.into()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A private directory.
    pub(super) fn take(&self) -> Result<Scratch, SandboxError> {
        let mut slot = self.slots.take(&self.path);
        slot.owner = self.owners.map(|users| users.nth(slot.number));
        let mut scratch = Scratch {
            slot,
            slots: Arc::clone(&self.slots),
        };
        let made = scratch.slot.make();
        made.map_err(|errno| SandboxError::Scratch {
            path: self.path.clone(),
            source: errno.into(),
        })?;
        Ok(scratch)
    }
}

impl Drop for ScratchRoot {
    fn drop(&mut self) {
        // The next sandbox removes what is left.
        let _ = remove_tree(&self.path);
    }
}

/// A private directory, returned when dropped.
pub(super) struct Scratch {
    slot: ScratchSlot,
    slots: Arc<Slots>,
}

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        &self.slot.path
    }

    /// The user that owns the directory.
    pub(super) fn owner(&self) -> Option<u32> {
        self.slot.owner
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let slot = std::mem::take(&mut self.slot);
        self.slots.give_back(slot);
    }
}

/// A slot for a private directory, and the directory, if it exists already.
#[derive(Default)]
struct ScratchSlot {
    number: u32,
    path: PathBuf,
    owner: Option<u32>,
    /// The state of the directory when it was new.
    new: Option<DirectoryState>,
}

/// Owner, mode and times of a directory.
type DirectoryState = (u32, u32, [i64; 4]);

impl ScratchSlot {
    fn make(&mut self) -> Result<(), Errno> {
        if self.new.is_some() {
            return Ok(());
        }
        mkdir(&self.path, Mode::RWXU)?;
        if let Some(owner) = self.owner {
            let (user, group) = (Uid::from_raw(owner), Gid::from_raw(owner));
            chown(&self.path, Some(user), Some(group))?;
        }
        self.new = Some(look(&stat(&self.path)?));
        Ok(())
    }

    /// Whether the directory cannot be distinguished from a new one: it is empty, has no attributes, and neither mode
    /// nor times have changed, and so nothing else has.
    fn is_as_new(&self) -> bool {
        let is_as_new = || {
            let directory = open_directory(&self.path)?;
            let is_same = self.new == Some(look(&fstat(&directory)?));
            let is_empty = Dir::read_from(&directory)?
                .all(|entry| entry.is_ok_and(|entry| is_dots(entry.file_name())));
            let has_notes = flistxattr(&directory, &mut [] as &mut [u8])? > 0;
            Ok::<bool, Errno>(is_same && is_empty && !has_notes)
        };
        is_as_new().unwrap_or(false)
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the types of these fields differ between architectures"
)]
fn look(stat: &Stat) -> DirectoryState {
    let times = [
        stat.st_mtime as i64,
        stat.st_mtime_nsec as i64,
        stat.st_ctime as i64,
        stat.st_ctime_nsec as i64,
    ];
    (stat.st_mode, stat.st_uid, times)
}

fn is_dots(name: &CStr) -> bool {
    name == c"." || name == c".."
}

/// The slots that are free.
#[derive(Default)]
struct Slots {
    state: Mutex<SlotsState>,
}

#[derive(Default)]
struct SlotsState {
    free: Vec<ScratchSlot>,
    /// How many there are.
    count: u32,
    /// Directories that could not be removed: killed processes may take a moment to exit.
    left: Vec<PathBuf>,
}

impl Slots {
    fn take(&self, root: &Path) -> ScratchSlot {
        let mut state = self.lock();
        state.left.retain(|path| remove_tree(path).is_err());
        state.free.pop().unwrap_or_else(|| {
            let number = state.count;
            state.count += 1;
            ScratchSlot {
                number,
                path: root.join(number.to_string()),
                ..ScratchSlot::default()
            }
        })
    }

    fn give_back(&self, mut slot: ScratchSlot) {
        if !slot.is_as_new() {
            slot.new = None;
            if remove_tree(&slot.path).is_err_and(|errno| errno != Errno::NOENT) {
                self.lock().left.push(slot.path);
                return;
            }
        }
        self.lock().free.push(slot);
    }

    fn lock(&self) -> MutexGuard<'_, SlotsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a directory that functions can search but not list, and locks it. Before it is locked another process may
/// remove it as abandoned, so this checks that it still exists.
fn lock_new(path: &Path) -> Result<OwnedFd, Errno> {
    mkdir(path, Mode::RWXU)?;
    let directory = open_directory(path)?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    let (held, named) = (fstat(&directory)?, stat(path)?);
    if (held.st_dev, held.st_ino) != (named.st_dev, named.st_ino) {
        return Err(Errno::NOENT);
    }
    fchmod(&directory, Mode::RWXU | Mode::XGRP | Mode::XOTH)?;
    Ok(directory)
}

/// Removes abandoned directories: those without a lock.
fn sweep(temporary: &Path) {
    let Ok(entries) = temporary.read_dir() else {
        return;
    };
    let entries = entries.filter_map(Result::ok);
    let ours = entries.filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
    });
    for entry in ours {
        let path = entry.path();
        let Ok(directory) = open_directory(&path) else {
            continue;
        };
        let is_ours = fstat(&directory).is_ok_and(|stat| stat.st_uid == geteuid().as_raw());
        if is_ours && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = remove_tree(&path);
        }
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}
