//! Finds a program by its name, by Go's rules.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};

use crate::outcome::StartError;

/// The path of a program. A name with a slash is a path already; the operating system reports what is wrong with it. A
/// name is never searched for in the current directory, even if the search path contains it.
pub fn find(name: &str, search_path: &OsStr) -> Result<PathBuf, StartError> {
    if name.is_empty() {
        return Err(StartError::NoCommand);
    }
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let program = || name.to_owned();
    let directories = search_path.as_bytes().split(|byte| *byte == b':');
    for directory in directories.filter(|_| !search_path.is_empty()) {
        let path = Path::new(OsStr::from_bytes(directory)).join(name);
        if !is_executable(&path) {
            continue;
        }
        if path.is_relative() {
            return Err(StartError::RelativeToCurrentDirectory { program: program() });
        }
        return Ok(path);
    }
    Err(StartError::NotOnPath { program: program() })
}

fn is_executable(path: &Path) -> bool {
    let is_directory = |mode| FileType::from_raw_mode(mode) == FileType::Directory;
    stat(path).is_ok_and(|stat| !is_directory(stat.st_mode) && stat.st_mode & 0o111 != 0)
        && accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests;
