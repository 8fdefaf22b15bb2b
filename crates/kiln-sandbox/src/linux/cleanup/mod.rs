//! Removes what a function left, which may be built to make that hard.
//!
//! However deep the tree, only two directories are open at a time: the contents of a directory are moved up to the top
//! before they are removed. No link is followed. Directories without permissions get them back.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, openat, renameat, rmdir, unlinkat};
use rustix::io::{Errno, Result};

/// Deeper than a function can nest directories in its time.
const DEEPEST: usize = 1 << 24;

/// Removes a directory with everything in it. No other process may use it.
pub(super) fn remove_tree(path: &Path) -> Result<()> {
    let top = open_directory(CWD, path)?;
    let mut next = 0_u64;
    // Each round removes the directories of the one before, so it ends at the deepest level.
    for _ in 0..DEEPEST {
        let directories = unlink_files(top.as_fd())?;
        if directories.is_empty() {
            return rmdir(path);
        }
        for directory in directories {
            empty_into(top.as_fd(), &directory, &mut next)?;
        }
    }
    Err(Errno::NOTEMPTY)
}

/// Unlinks the files in a directory and returns its directories.
fn unlink_files(directory: BorrowedFd<'_>) -> Result<Vec<CString>> {
    let mut directories = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => directories.push(name.to_owned()),
            Err(errno) => return Err(errno),
        }
    }
    Ok(directories)
}

/// Moves the directories in `name` up to `top`, and removes `name` with the rest.
fn empty_into(top: BorrowedFd<'_>, name: &CString, next: &mut u64) -> Result<()> {
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
        answer => return answer,
    }
    let directory = open_directory(top, name)?;
    for inner in unlink_files(directory.as_fd())? {
        move_up(directory.as_fd(), &inner, top, next)?;
    }
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        // The listing was incomplete; the next round handles the rest.
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        answer => answer,
    }
}

/// Moves a directory to an unused name at the top.
fn move_up(
    from: BorrowedFd<'_>,
    name: &CString,
    top: BorrowedFd<'_>,
    next: &mut u64,
) -> Result<()> {
    loop {
        *next += 1;
        let new_name = format!("{next}");
        match renameat(from, name, top, &*new_name) {
            // The name is in use.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            // A directory without rights for its owner cannot be moved.
            Err(Errno::ACCESS) => {
                chmodat(from, name, Mode::RWXU, AtFlags::empty())?;
                return renameat(from, name, top, &*new_name);
            }
            answer => return answer,
        }
    }
}

fn open_directory<P: rustix::path::Arg + Copy>(at: BorrowedFd<'_>, path: P) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(at, path, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(at, path, Mode::RWXU, AtFlags::empty())?;
            openat(at, path, flags, Mode::empty())
        }
        answer => answer,
    }
}

#[cfg(test)]
mod tests;
