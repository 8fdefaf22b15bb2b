//! Hashes of the files of a directory, to find changed files.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kiln_krm::package::{FileAction, FileChange};
use kiln_package::JOURNAL;

/// A larger file is not read; its size and time are compared.
const LARGE: u64 = 16 << 20;

pub(super) struct Snapshot {
    files: BTreeMap<PathBuf, Content>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Hash(u64),
    Large(u64, Option<SystemTime>),
    /// The file cannot be read.
    Unreadable,
}

impl Snapshot {
    /// Reads all files except those of git and kiln and those in `ignored`. Does not follow links to directories.
    pub(super) fn take(root: &Path, ignored: Option<&Path>) -> Snapshot {
        let mut files = BTreeMap::new();
        let mut pending = vec![root.to_owned()];
        while let Some(directory) = pending.pop() {
            // A directory that was removed meanwhile is missing in the snapshot, as it should be.
            let Ok(entries) = std::fs::read_dir(&directory) else {
                continue;
            };
            for entry in entries.flatten() {
                let path = entry.path();
                if is_ours(&path) || ignored.is_some_and(|ignored| path == ignored) {
                    continue;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => pending.push(path),
                    Ok(_) => {
                        let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                        if let Some(content) = Content::of(&path) {
                            files.insert(name, content);
                        }
                    }
                    Err(_) => {}
                }
            }
        }
        Snapshot { files }
    }

    /// Applies changes to the snapshot.
    pub(super) fn add(&mut self, changes: &[FileChange]) {
        for change in changes {
            let path = PathBuf::from(&change.path);
            match &change.action {
                FileAction::Write(bytes) => {
                    self.files.insert(path, Content::of_bytes(bytes));
                }
                FileAction::Delete => {
                    self.files.remove(&path);
                }
            }
        }
    }

    /// The files that are new, removed or different in `now`.
    pub(super) fn differences(&self, now: &Snapshot) -> Vec<String> {
        let changed = now
            .files
            .iter()
            .filter(|(path, content)| self.files.get(*path) != Some(content));
        let gone = self
            .files
            .iter()
            .filter(|(path, _)| !now.files.contains_key(*path));
        let mut names: Vec<String> = changed
            .chain(gone)
            .map(|(path, _)| path.display().to_string())
            .collect();
        names.sort();
        names
    }
}

impl Content {
    /// `None` for anything but a file: reading a pipe would block.
    fn of(path: &Path) -> Option<Content> {
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(_) => return Some(Content::Unreadable),
        };
        if !metadata.is_file() {
            return None;
        }
        if metadata.len() > LARGE {
            return Some(Content::large(&metadata));
        }
        Some(match std::fs::read(path) {
            Ok(bytes) => Content::of_bytes(&bytes),
            Err(_) => Content::Unreadable,
        })
    }

    fn large(metadata: &Metadata) -> Content {
        Content::Large(metadata.len(), metadata.modified().ok())
    }

    fn of_bytes(bytes: &[u8]) -> Content {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Content::Hash(hasher.finish())
    }
}

/// Whether a file belongs to git or kiln.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == ".git" || name == JOURNAL || (name.starts_with(".kiln-") && name.ends_with(".tmp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_by_others_are_differences() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let write = |name: &str, content: &str| std::fs::write(root.join(name), content).unwrap();
        write("a", "1");
        write("b", "1");
        std::fs::create_dir(root.join("results")).unwrap();
        let ignored = root.join("results");
        let take = || Snapshot::take(root, Some(&ignored));
        let mut known = take();
        write("a", "2");
        std::fs::remove_file(root.join("b")).unwrap();
        known.add(&[
            FileChange {
                path: "a".to_owned(),
                action: FileAction::Write(b"2".to_vec()),
            },
            FileChange {
                path: "b".to_owned(),
                action: FileAction::Delete,
            },
        ]);
        write("results/results.yaml", "x");
        write(".kiln-journal", "x");
        assert!(known.differences(&take()).is_empty());
        write("a", "3");
        write("c", "1");
        assert_eq!(known.differences(&take()), ["a", "c"]);
        write("a", "2");
        assert_eq!(known.differences(&take()), ["c"]);
    }
}
