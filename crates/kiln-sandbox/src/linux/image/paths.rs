//! Paths that an image or the user chooses: the working directory, the program, writable directories and mounts.
//!
//! `/proc` has links that lead out of every root (`/proc/self/fd/3`, `/proc/self/exe`), and an image can name them in its
//! configuration or by a link of its own (CVE-2024-21626). So no such path is passed to the kernel as text: it is opened
//! without these links, below the root of the image, and then only the descriptor is used. What this process mounts itself
//! (`/proc`, `/dev`) cannot be chosen at all.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstatfs, open, openat2};
use rustix::io::Errno;

use crate::image::{IsolationStep, RefusedStep};
use crate::measure::SandboxError;

/// Directories that this sandbox brings itself, or that engines do.
const RESERVED: [&str; 3] = ["proc", "sys", "dev"];

/// How often to resolve a path. The kernel gives up on `..` when anything is mounted or renamed at the same time.
const ATTEMPTS: usize = 1000;

/// The root of an unpacked image, as the parent sees it.
pub(super) struct UnpackedImage {
    path: PathBuf,
    root: OwnedFd,
}

impl UnpackedImage {
    pub(super) fn open(path: &Path) -> Result<UnpackedImage, SandboxError> {
        let opened = || -> io::Result<UnpackedImage> {
            let path = path.canonicalize()?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = open(&path, flags, Mode::empty())?;
            Ok(UnpackedImage { path, root })
        };
        opened().map_err(|source| SandboxError::Path {
            path: path.to_owned(),
            source,
        })
    }

    /// Whether the image has a path.
    pub(super) fn has(&self, path: &Path) -> bool {
        open_below(self.root.as_fd(), path, OFlags::empty()).is_ok()
    }

    /// Fails if the path leads to a directory that the image may not choose, with the links of the image followed.
    pub(super) fn check(&self, path: &Path) -> Result<(), SandboxError> {
        let resolved = self.resolve(path)?;
        let first = resolved.components().next();
        let reserved = first.and_then(|first| match first {
            Component::Normal(name) => RESERVED.into_iter().find(|reserved| name == *reserved),
            _ => None,
        });
        match reserved {
            None => Ok(()),
            Some(reserved) => Err(SandboxError::ReservedPath {
                path: path.to_owned(),
                reserved,
            }),
        }
    }

    /// The path without links, relative to the root. What does not exist is taken as it is written.
    fn resolve(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        for existing in path.ancestors() {
            let found = match open_below(self.root.as_fd(), existing, OFlags::empty()) {
                Ok(found) => found,
                Err(errno @ (Errno::NOSYS | Errno::PERM)) => return Err(no_openat2(errno)),
                Err(_) => continue,
            };
            let missing = path.strip_prefix(existing).unwrap_or(Path::new(""));
            let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            if !missing.components().all(is_plain) {
                break;
            }
            let link = format!("/proc/self/fd/{}", found.as_raw_fd());
            let found = std::fs::read_link(link).map_err(|source| SandboxError::Path {
                path: path.to_owned(),
                source,
            })?;
            return match found.strip_prefix(&self.path) {
                Ok(found) => Ok(found.join(missing)),
                // It was moved meanwhile.
                Err(_) => break,
            };
        }
        Err(SandboxError::MalformedPath {
            path: path.to_owned(),
        })
    }
}

/// The kernel does not have the system call (before Linux 5.6), or a filter of a container refuses it.
fn no_openat2(errno: Errno) -> SandboxError {
    SandboxError::Isolate(RefusedStep {
        step: IsolationStep::Other,
        doing: "resolve the paths of the image (openat2)",
        source: errno.into(),
    })
}

/// Opens a path that an image chose, below the root. It is neither in `/proc` nor reached through its links. For use in
/// the child: only system calls.
///
/// While another root is mounted on top of this one, `..` leads there: not to be used then.
pub(super) fn open_chosen(
    root: BorrowedFd<'_>,
    path: &CStr,
    kind: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let found = open_below(root, path, kind)?;
    match fstatfs(&found)?.f_type {
        PROC_SUPER_MAGIC => Err(Errno::XDEV),
        _ => Ok(found),
    }
}

fn open_below(
    root: BorrowedFd<'_>,
    path: impl rustix::path::Arg,
    kind: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | kind;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    path.into_with_c_str(|path| {
        let mut opened = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            opened = openat2(root, path, flags, Mode::empty(), resolve);
            if !matches!(opened, Err(Errno::AGAIN)) {
                break;
            }
        }
        opened
    })
}
