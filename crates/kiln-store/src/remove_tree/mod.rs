//! Removes directories with everything in them, however deep they are nested.
//!
//! Neither the stack nor the open files grow with the depth: a directory that is too deep is moved to the top and removed
//! from there.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::record::sorted_names;

/// How deep directories are emptied where they are.
const MAX_DEPTH: u32 = 64;

/// Removes a directory by its path. Its last component is not followed if it is a link.
pub(crate) fn remove_tree_at(path: &Path) -> io::Result<()> {
    remove_tree(CWD, path.as_os_str().as_bytes())
}

/// Removes a directory and everything in it.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    let mut removal = TreeRemoval {
        top: open(parent, name)?,
        moved: 0,
    };
    loop {
        let before = removal.moved;
        removal.empty(removal.top.try_clone()?.as_fd(), 0)?;
        if removal.moved == before {
            break;
        }
    }
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

struct TreeRemoval {
    top: OwnedFd,
    /// How many directories were moved to the top.
    moved: u64,
}

impl TreeRemoval {
    /// Removes the entries of a directory. What is too deep is at the top afterwards.
    fn empty(&mut self, directory: BorrowedFd<'_>, depth: u32) -> io::Result<()> {
        for entry in sorted_names(directory)? {
            match rustix::fs::unlinkat(directory, &*entry, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {}
                removed => {
                    removed?;
                    continue;
                }
            }
            let name = entry.to_bytes();
            match depth == MAX_DEPTH {
                true => self.move_up(directory, name)?,
                false => {
                    let child = open(directory, name)?;
                    self.empty(child.as_fd(), depth + 1)?;
                    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?;
                }
            }
        }
        Ok(())
    }

    fn move_up(&mut self, directory: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
        loop {
            self.moved += 1;
            let new = format!("deep-{}", self.moved);
            match rustix::fs::renameat(directory, name, &self.top, OsStr::new(&new)) {
                // The tree has something of that name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                renamed => return Ok(renamed?),
            }
        }
    }
}

fn open(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests;
