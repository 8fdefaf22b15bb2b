//! Paths inside the root of an image: symbolic links are followed, but never out of it.
//!
//! The kernel resolves a path with `openat2` where it can. Otherwise, and where missing directories are to be created, the
//! components are opened one by one and links are resolved here, as if the root were `/`.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// As many links as the kernel follows.
const MAX_LINKS: u32 = 40;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Creates a missing directory in an open one, and opens it.
pub(crate) type CreateDirectory<'a, E> =
    dyn FnMut(BorrowedFd<'_>, &[u8]) -> Result<OwnedFd, E> + 'a;

/// Opens a directory inside a root with `O_PATH`.
pub fn open_directory(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    match open_with_kernel(root, path, DIRECTORY) {
        Some(opened) => Ok(opened?),
        None => {
            let walked = walk::<io::Error>(root, path, &mut missing)?;
            match walked.file {
                None => walked.into_directory(root),
                Some(_) => Err(Errno::NOTDIR.into()),
            }
        }
    }
}

/// Opens a directory inside a root with `O_PATH`; `create` creates the missing directories on the way to it.
pub(crate) fn create_directories<E: From<io::Error>>(
    root: BorrowedFd<'_>,
    path: &[u8],
    create: &mut CreateDirectory<'_, E>,
) -> Result<OwnedFd, E> {
    let walked = walk(root, path, create)?;
    match walked.file {
        None => Ok(walked.into_directory(root)?),
        Some(_) => Err(io::Error::from(Errno::NOTDIR).into()),
    }
}

/// Opens a regular file inside a root for reading. Anything else is an error.
pub fn open_file(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match open_with_kernel(root, path, flags) {
        Some(opened) => opened?,
        None => {
            let walked = walk::<io::Error>(root, path, &mut missing)?;
            let name = walked.file.as_deref().ok_or(Errno::ISDIR)?;
            let flags = flags | OFlags::NOFOLLOW;
            rustix::fs::openat(walked.directory(root), name, flags, Mode::empty())?
        }
    };
    let stat = rustix::fs::fstat(&fd)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(fd.into()),
        _ => Err(Errno::ACCESS.into()),
    }
}

/// The path without links, relative to the root, of what a path leads to that is not a directory.
pub(crate) fn resolve_file(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<PathBuf> {
    let walked = walk::<io::Error>(root, path, &mut missing)?;
    let file = walked.file.ok_or(Errno::ISDIR)?;
    let names = walked.names.iter().chain([&file]);
    Ok(names.map(|name| OsStr::from_bytes(name)).collect())
}

/// `None` if the kernel or a filter of system calls does not have `openat2`.
#[cfg(target_os = "linux")]
fn open_with_kernel(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> Option<Result<OwnedFd, Errno>> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { b"." } else { path };
    match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
        // `AGAIN`: another process renamed a directory meanwhile.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => None,
        opened => Some(opened),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_with_kernel(_: BorrowedFd<'_>, _: &[u8], _: OFlags) -> Option<Result<OwnedFd, Errno>> {
    None
}

/// Where a path leads.
struct Walked {
    /// The directories below the root that are open.
    directories: Vec<OwnedFd>,
    /// Their names.
    names: Vec<Vec<u8>>,
    /// The last component, if it is not a directory.
    file: Option<Vec<u8>>,
}

impl Walked {
    fn directory<'a>(&'a self, root: BorrowedFd<'a>) -> BorrowedFd<'a> {
        self.directories.last().map_or(root, AsFd::as_fd)
    }

    fn enter(&mut self, directory: OwnedFd, name: Vec<u8>) {
        self.directories.push(directory);
        self.names.push(name);
    }

    fn into_directory(mut self, root: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        match self.directories.pop() {
            Some(directory) => Ok(directory),
            None => root.try_clone_to_owned(),
        }
    }
}

fn missing(_: BorrowedFd<'_>, _: &[u8]) -> io::Result<OwnedFd> {
    Err(Errno::NOENT.into())
}

/// Follows a path component by component. `..` above the root stays at the root.
fn walk<E: From<io::Error>>(
    root: BorrowedFd<'_>,
    path: &[u8],
    create: &mut CreateDirectory<'_, E>,
) -> Result<Walked, E> {
    let mut walked = Walked {
        directories: Vec::new(),
        names: Vec::new(),
        file: None,
    };
    let mut pending: VecDeque<Vec<u8>> = components(path).collect();
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        if name == b".." {
            walked.directories.pop();
            walked.names.pop();
            continue;
        }
        let parent = walked.directory(root);
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        match rustix::fs::openat(parent, name.as_slice(), flags, Mode::empty()) {
            Ok(directory) => {
                walked.enter(directory, name);
                continue;
            }
            Err(Errno::NOENT) => {
                let directory = create(parent, &name)?;
                walked.enter(directory, name);
                continue;
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        match rustix::fs::readlinkat(parent, name.as_slice(), Vec::new()) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::from(Errno::LOOP).into());
                }
                let target = target.into_bytes();
                if target.starts_with(b"/") {
                    walked.directories.clear();
                    walked.names.clear();
                }
                for component in components(&target).collect::<Vec<_>>().into_iter().rev() {
                    pending.push_front(component);
                }
            }
            // It is neither a directory nor a link.
            Err(Errno::INVAL) if pending.is_empty() => {
                walked.file = Some(name);
                return Ok(walked);
            }
            Err(Errno::INVAL) => return Err(io::Error::from(Errno::NOTDIR).into()),
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Ok(walked)
}

fn components(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/');
    let is_meaningful = |part: &&[u8]| !matches!(*part, b"" | b".");
    parts.filter(is_meaningful).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests;
