//! Loads machine code that the WebAssembly compiler stored in a file.
//!
//! A user that can write such a file can run anything as this user, so that a file is loaded only if this user alone could
//! have written it: its owner, its mode, and those of its directory and of every directory above are checked on what was opened,
//! not on names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, Module};

/// Why stored code is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum CompiledCodeError {
    /// Another user could have written it, or a directory above it.
    #[error("{} is not used: {problem}", path.display())]
    NotPrivate {
        path: PathBuf,
        problem: &'static str,
    },
    /// It was changed after it was stored, or is incomplete.
    #[error("{} is damaged", path.display())]
    Damaged { path: PathBuf },
    /// It was made by another version of the compiler, with other settings, or for another processor.
    #[error("{} is not code for this program: {reason}", path.display())]
    NotForThisProgram { path: PathBuf, reason: String },
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Files below this size are compared with their digest at every load.
const ALWAYS_CHECKED: u64 = 4 << 20;

/// Files older than this are compared with their digest.
const TRUSTED_AGE: Duration = Duration::from_secs(24 * 60 * 60);

const WRITABLE_BY_OTHERS: u32 = 0o022;
const ACCESSIBLE_BY_OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;

/// Checks that a directory and its parents are such that only this user and root can change what is in the directory.
pub fn check_private_directory(directory: &Path) -> Result<(), CompiledCodeError> {
    open_private_directory(directory).map(drop)
}

/// Loads the code in a file of a directory. `None` if the file does not exist. `digest` is the SHA-256 that the file must have.
pub fn load_compiled(
    engine: &Engine,
    directory: &Path,
    name: &str,
    digest: &[u8; 32],
) -> Result<Option<Module>, CompiledCodeError> {
    let path = directory.join(name);
    let io_error = |source: io::Error| CompiledCodeError::Io {
        path: path.clone(),
        source,
    };
    let opened = open_private_directory(directory)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match openat(&opened, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(io_error(error.into())),
    };
    let mut file = file;
    let metadata = file.metadata().map_err(io_error)?;
    let not_private = |problem| CompiledCodeError::NotPrivate {
        path: path.clone(),
        problem,
    };
    if !metadata.is_file() {
        return Err(not_private("it is not a regular file"));
    }
    if metadata.uid() != this_user() {
        return Err(not_private("it belongs to another user"));
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(not_private("other users can write to it"));
    }
    if metadata.nlink() != 1 {
        return Err(not_private(
            "it has another name, under which it can be changed",
        ));
    }
    let age = metadata
        .modified()
        .ok()
        .and_then(|modified| SystemTime::now().duration_since(modified).ok());
    let is_young = age.is_some_and(|age| age < TRUSTED_AGE);
    if metadata.len() < ALWAYS_CHECKED || !is_young {
        let actual = digest_of(&mut file).map_err(io_error)?;
        if actual != *digest {
            return Err(CompiledCodeError::Damaged { path });
        }
    }
    #[expect(
        unsafe_code,
        reason = "the compiler's output is machine code, which cannot be checked"
    )]
    // SAFETY: the file holds what wasmtime wrote: only this user can write to the file, and none of its names or of the
    // directories that lead to it can be replaced by another user. wasmtime itself refuses code of other versions and settings.
    // This user changing the file while it is mapped could as well change the program.
    let module = unsafe { Module::deserialize_open_file(engine, file) };
    let module = module.map_err(|error| CompiledCodeError::NotForThisProgram {
        path: path.clone(),
        reason: format!("{error:#}"),
    });
    module.map(Some)
}

fn digest_of(file: &mut File) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        match buffer.get(..read) {
            Some(bytes) if read > 0 => hasher.update(bytes),
            _ => break,
        }
    }
    file.rewind()?;
    Ok(hasher.finalize().into())
}

/// Opens a directory after a check of every directory on its real path.
fn open_private_directory(directory: &Path) -> Result<OwnedFd, CompiledCodeError> {
    let absolute = directory
        .canonicalize()
        .map_err(|source| CompiledCodeError::Io {
            path: directory.to_owned(),
            source,
        })?;
    let mut path = PathBuf::from("/");
    let mut opened = open_directory(CWD, OsStr::new("/"), &path)?;
    for component in absolute.components() {
        let Component::Normal(name) = component else {
            continue;
        };
        check_parent(&opened, &path)?;
        path.push(name);
        opened = open_directory(&opened, name, &path)?;
    }
    check_own(&opened, &path)?;
    Ok(opened)
}

fn open_directory(
    parent: impl AsFd,
    name: &OsStr,
    path: &Path,
) -> Result<OwnedFd, CompiledCodeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).map_err(|error| CompiledCodeError::Io {
        path: path.to_owned(),
        source: error.into(),
    })
}

/// The directory itself belongs to this user alone.
fn check_own(directory: &OwnedFd, path: &Path) -> Result<(), CompiledCodeError> {
    let status = status(directory, path)?;
    let not_private = |problem| {
        Err(CompiledCodeError::NotPrivate {
            path: path.to_owned(),
            problem,
        })
    };
    if status.st_uid != this_user() {
        return not_private("it belongs to another user");
    }
    if status.st_mode & ACCESSIBLE_BY_OTHERS != 0 {
        return not_private("other users can access it; its mode must be 0700");
    }
    Ok(())
}

/// No other user but root can rename what is in the directory.
fn check_parent(directory: &OwnedFd, path: &Path) -> Result<(), CompiledCodeError> {
    let status = status(directory, path)?;
    let not_private = |problem| {
        Err(CompiledCodeError::NotPrivate {
            path: path.to_owned(),
            problem,
        })
    };
    if status.st_uid != this_user() && status.st_uid != 0 {
        return not_private("it belongs to another user");
    }
    if status.st_mode & WRITABLE_BY_OTHERS != 0 && status.st_mode & STICKY == 0 {
        return not_private("other users can write to it");
    }
    Ok(())
}

fn status(directory: &OwnedFd, path: &Path) -> Result<rustix::fs::Stat, CompiledCodeError> {
    rustix::fs::fstat(directory).map_err(|error| CompiledCodeError::Io {
        path: path.to_owned(),
        source: error.into(),
    })
}

fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
