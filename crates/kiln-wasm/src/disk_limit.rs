//! Limits the size of directories of caches.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The extension of files that processes lock, which have no content.
pub(crate) const LOCK: &str = ".lock";

/// Removes the files that were not used for longest until the others take at most `limit` bytes. Locks stay: while a process
/// holds one, another would make a new file and lock that.
pub(crate) fn remove_unused(directory: &Path, limit: u64) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut files: Vec<(i64, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            if entry
                .file_name()
                .as_encoded_bytes()
                .ends_with(LOCK.as_bytes())
            {
                return None;
            }
            let metadata = entry.metadata().ok()?;
            Some((metadata.atime(), metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in files {
        if total <= limit {
            return;
        }
        if fs::remove_file(path).is_ok() {
            total -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn what_was_not_used_for_longest_is_removed_first() {
        let directory = tempfile::tempdir().expect("a directory");
        // Neither by name nor by the time of writing.
        for (name, hours_ago) in [("a", 2), ("b", 3), ("c", 1), ("d.lock", 4)] {
            let file = File::create(directory.path().join(name)).expect("a file");
            file.set_len(10).expect("a size");
            let used = SystemTime::now() - Duration::from_secs(3600 * hours_ago);
            file.set_times(FileTimes::new().set_accessed(used))
                .expect("a time");
        }
        let left = || {
            let entries = fs::read_dir(directory.path()).expect("a directory");
            let mut names: Vec<String> = entries
                .map(|entry| entry.expect("an entry").file_name())
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            names.sort();
            names.concat()
        };
        for (limit, wanted) in [
            (30, "abcd.lock"),
            (29, "acd.lock"),
            (10, "cd.lock"),
            (0, "d.lock"),
        ] {
            remove_unused(directory.path(), limit);
            assert_eq!(left(), wanted, "{limit}");
        }
    }
}
