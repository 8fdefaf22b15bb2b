//! Checks file modes for the rights of all other users.

use std::path::Path;

use rustix::fs::{FileType, stat};

/// Whether a user without rights of its own can read all `paths` and search all directories on the way.
pub(super) fn is_world_readable<'a>(paths: impl IntoIterator<Item = &'a Path>) -> bool {
    paths.into_iter().all(|path| {
        let way = path.parent().is_none_or(is_world_searchable);
        way && others_have(path, 0o5, 0o4)
    })
}

/// Whether such a user can enter a directory.
pub(super) fn is_world_searchable(directory: &Path) -> bool {
    directory
        .ancestors()
        .all(|part| others_have(part, 0o1, 0o1))
}

/// Whether such a user can execute a file that it can reach.
pub(super) fn is_world_executable(file: &Path) -> bool {
    others_have(file, 0, 0o1)
}

/// Whether the mode has the bits for other users.
fn others_have(path: &Path, of_directory: u32, of_file: u32) -> bool {
    // The parent of a relative path.
    if path.as_os_str().is_empty() {
        return true;
    }
    stat(path).is_ok_and(|stat| {
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let bits = if is_directory { of_directory } else { of_file };
        stat.st_mode & bits == bits
    })
}
