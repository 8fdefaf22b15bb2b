//! The program behind a name that kiln answers to through a link: the real kpt, docker, podman or nerdctl.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::{KILN_PASSED_ON, PATH};

/// The program that `variable` names, else the first one called `name` on the PATH. Neither is kiln itself.
pub(crate) fn find(name: &str, variable: &str) -> Option<PathBuf> {
    // A copy of kiln under the name would be replaced by this one, and this one by the copy, for ever.
    if std::env::var(KILN_PASSED_ON).is_ok_and(|process| process == process_id()) {
        return None;
    }
    let own = own_file();
    if let Some(named) = std::env::var_os(variable).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        if own.is_none() || file_behind(&named) != own {
            return Some(named);
        }
    }
    let directories = std::env::var_os(PATH)?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| is_program(path) && file_behind(path) != own)
}

/// Replaces this process by a program with the same arguments. Returns only if that fails.
pub(crate) fn replace_process(program: &Path, arguments: &[OsString]) -> io::Error {
    Command::new(program)
        .args(arguments)
        .env(KILN_PASSED_ON, process_id())
        .exec()
}

/// The PATH without the directories in which one of `names` is kiln itself.
pub(crate) fn search_path_without_links(names: &[&str]) -> OsString {
    let search_path = std::env::var_os(PATH).unwrap_or_default();
    without_links(&search_path, names, own_file())
}

fn without_links(search_path: &OsStr, names: &[&str], own: Option<FileId>) -> OsString {
    let has_link = |directory: &Path| {
        let mut found = names.iter().map(|name| file_behind(&directory.join(name)));
        own.is_some() && found.any(|found| found == own)
    };
    let kept = std::env::split_paths(search_path).filter(|directory| !has_link(directory));
    // Directories that were split at colons have none.
    std::env::join_paths(kept).unwrap_or_default()
}

/// Whether the first program called `name` on the PATH is kiln.
pub(crate) fn is_first_on_path(name: &str) -> bool {
    let directories = std::env::var_os(PATH).unwrap_or_default();
    let mut paths = std::env::split_paths(&directories).map(|directory| directory.join(name));
    let first = paths.find(|path| is_program(path));
    first.is_some_and(|path| is_this_program(&path))
}

/// Whether a path is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether a path leads to this program.
pub(crate) fn is_this_program(path: &Path) -> bool {
    let own = own_file();
    own.is_some() && file_behind(path) == own
}

/// Device and inode.
type FileId = (u64, u64);

/// The file behind a path and its links.
fn file_behind(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn own_file() -> Option<FileId> {
    file_behind(&std::env::current_exe().ok()?)
}

/// A program that replaces a process has its number.
fn process_id() -> String {
    std::process::id().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_with_links_are_left_out_of_the_search() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for directory in ["links", "engines", "empty"] {
            std::fs::create_dir(path(directory)).unwrap();
        }
        std::fs::write(path("kiln"), "").unwrap();
        std::fs::write(path("engines/docker"), "").unwrap();
        std::os::unix::fs::symlink("../kiln", path("links/docker")).unwrap();
        let own = file_behind(&path("kiln"));
        let search = |names: &[&str]| {
            let all = ["links", "engines", "empty"].map(path);
            let all = std::env::join_paths(all).unwrap();
            let kept = without_links(&all, names, own);
            std::env::split_paths(&kept).collect::<Vec<_>>()
        };
        assert_eq!(
            search(&["docker", "podman"]),
            [path("engines"), path("empty")]
        );
        assert_eq!(
            search(&["podman"]),
            [path("links"), path("engines"), path("empty")]
        );
    }
}
