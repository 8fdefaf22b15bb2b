//! Results of scans, cached in a file. Commits never change, so the cache is never stale. If the file cannot be read or written,
//! the next scan is slower.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::scan::{CommitDirectory, FoundPackage, NoPackage, Packages, ScanResult};
use crate::git::id::ObjectId;
use crate::git::objects::GitIdentity;

/// The first bytes of the file, with the version of its format.
const MAGIC: &[u8] = b"kiln package revisions 1\n";

/// Makes the names of temporary files unique.
static COUNTER: AtomicU64 = AtomicU64::new(0);

pub(super) struct SnapshotCache {
    file: PathBuf,
    results: HashMap<CommitDirectory, ScanResult>,
    packages: HashMap<CommitDirectory, Packages>,
    /// What this process has read. The rest is not saved again.
    used: HashSet<CommitDirectory>,
    is_changed: bool,
}

impl SnapshotCache {
    pub(super) fn load(file: &Path) -> SnapshotCache {
        let mut cache = SnapshotCache {
            file: file.to_owned(),
            results: HashMap::new(),
            packages: HashMap::new(),
            used: HashSet::new(),
            is_changed: false,
        };
        let bytes = std::fs::read(file).unwrap_or_default();
        if let Some(bytes) = bytes.strip_prefix(MAGIC) {
            let is_complete = cache.read(bytes).is_some();
            if !is_complete {
                cache.results.clear();
                cache.packages.clear();
            }
        }
        cache
    }

    pub(super) fn contains(&self, directory: &CommitDirectory) -> bool {
        self.results.contains_key(directory)
    }

    pub(super) fn get(&mut self, directory: &CommitDirectory) -> Option<ScanResult> {
        let result = self.results.get(directory).cloned();
        self.used.insert(directory.clone());
        result
    }

    pub(super) fn insert(&mut self, directory: &CommitDirectory, result: ScanResult) {
        self.is_changed = true;
        self.results.insert(directory.clone(), result);
    }

    pub(super) fn get_packages(&self, directory: &CommitDirectory) -> Option<Packages> {
        self.packages.get(directory).cloned()
    }

    /// Replaces the packages: only one commit of the branch is cached.
    pub(super) fn insert_packages(&mut self, directory: &CommitDirectory, packages: Packages) {
        self.is_changed = true;
        self.packages.clear();
        self.packages.insert(directory.clone(), packages);
    }

    /// Writes the file if the cache has changed. Other processes read the old file or the new one.
    pub(super) fn save(mut self) {
        if !self.is_changed {
            return;
        }
        self.results
            .retain(|directory, _| self.used.contains(directory));
        let bytes = self.to_bytes();
        let mut temporary = self.file.clone().into_os_string();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}-{count}", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let directory = self.file.parent().unwrap_or(Path::new("."));
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(&temporary, bytes))
            .and_then(|()| std::fs::rename(&temporary, &self.file));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (directory, result) in &self.results {
            let kind = match result {
                Ok(_) => b's',
                Err(NoPackage::NoKptfile) => b'k',
                Err(NoPackage::NoCommit) => b'c',
            };
            bytes.push(kind);
            put_directory(&mut bytes, directory);
            if let Ok(found) = result {
                put(&mut bytes, found.commit.as_str().as_bytes());
                put(&mut bytes, found.author.name.as_bytes());
                put(&mut bytes, found.author.email.as_bytes());
                put(&mut bytes, &found.time.to_le_bytes());
                put(&mut bytes, found.workspace.as_bytes());
                put(&mut bytes, &found.kptfile);
            }
        }
        for (directory, packages) in &self.packages {
            bytes.push(b'p');
            put_directory(&mut bytes, directory);
            put(&mut bytes, packages.len().to_string().as_bytes());
            for (directory, kptfile) in packages {
                put(&mut bytes, directory.as_bytes());
                put(&mut bytes, kptfile);
            }
        }
        bytes
    }

    /// Returns `None` if the bytes are damaged.
    fn read(&mut self, mut bytes: &[u8]) -> Option<()> {
        let bytes = &mut bytes;
        while let Some((kind, rest)) = bytes.split_first() {
            *bytes = rest;
            let directory = take_directory(bytes)?;
            match kind {
                b's' => {
                    let found = take_found(bytes)?;
                    self.results.insert(directory, Ok(found));
                }
                b'k' => {
                    self.results.insert(directory, Err(NoPackage::NoKptfile));
                }
                b'c' => {
                    self.results.insert(directory, Err(NoPackage::NoCommit));
                }
                b'p' => {
                    let count: usize = take_text(bytes)?.parse().ok()?;
                    let mut packages = Packages::new();
                    for _ in 0..count {
                        let directory = take_text(bytes)?;
                        packages.push((directory, Arc::from(take(bytes)?)));
                    }
                    self.packages.insert(directory, packages);
                }
                _ => return None,
            }
        }
        Some(())
    }
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    // Fields are far smaller than 4 GiB.
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    bytes.extend(length.to_le_bytes());
    bytes.extend(field);
}

fn put_directory(bytes: &mut Vec<u8>, directory: &CommitDirectory) {
    put(bytes, directory.id.as_str().as_bytes());
    put(bytes, directory.directory.as_bytes());
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let (field, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(field)
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let field = take(bytes)?;
    std::str::from_utf8(field).ok().map(str::to_owned)
}

fn take_directory(bytes: &mut &[u8]) -> Option<CommitDirectory> {
    Some(CommitDirectory {
        id: ObjectId::new(&take_text(bytes)?)?,
        directory: take_text(bytes)?,
    })
}

fn take_found(bytes: &mut &[u8]) -> Option<FoundPackage> {
    Some(FoundPackage {
        commit: ObjectId::new(&take_text(bytes)?)?,
        author: GitIdentity {
            name: take_text(bytes)?,
            email: take_text(bytes)?,
        },
        time: i64::from_le_bytes(take(bytes)?.try_into().ok()?),
        workspace: take_text(bytes)?,
        kptfile: Arc::from(take(bytes)?),
    })
}

#[cfg(test)]
mod tests {
    use super::{CommitDirectory, FoundPackage, MAGIC, NoPackage, SnapshotCache};
    use crate::git::id::ObjectId;
    use crate::git::objects::GitIdentity;

    #[test]
    fn results_are_cached_and_a_damaged_file_is_ignored() {
        let parent = tempfile::tempdir().expect("a directory can be made");
        let file = parent.path().join("new/cache");
        let id = ObjectId::new(&"a".repeat(40)).expect("an id");
        let at = |directory: &str| CommitDirectory::new(&id, directory);
        let found = FoundPackage {
            commit: id.clone(),
            author: GitIdentity::porch(),
            time: -7,
            workspace: "w".to_owned(),
            kptfile: b"text".as_slice().into(),
        };
        let packages = vec![("d".to_owned(), b"other".as_slice().into())];
        let mut cache = SnapshotCache::load(&file);
        cache.insert(&at("a"), Ok(found.clone()));
        cache.insert(&at("b"), Err(NoPackage::NoKptfile));
        cache.insert(&at("unused"), Err(NoPackage::NoCommit));
        cache.insert_packages(&at(""), packages.clone());
        for directory in ["a", "b"] {
            assert!(cache.get(&at(directory)).is_some());
        }
        cache.save();
        let mut cache = SnapshotCache::load(&file);
        assert_eq!(cache.get(&at("a")), Some(Ok(found)));
        assert_eq!(cache.get(&at("b")), Some(Err(NoPackage::NoKptfile)));
        assert!(!cache.contains(&at("unused")));
        assert_eq!(cache.get_packages(&at("")), Some(packages));
        let whole = std::fs::read(&file).expect("it is there");
        for length in MAGIC.len() + 1..whole.len() {
            std::fs::write(&file, &whole[..length]).expect("it can be written");
            let cache = SnapshotCache::load(&file);
            // A cut between two entries goes unnoticed and does no harm.
            assert!(cache.results.len() + cache.packages.len() < 3);
        }
    }
}
