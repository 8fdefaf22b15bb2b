//! What a render reads of a package, so that it can be compared later.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use kiln_krm::package::{Entry, EntryKind, FileError, FileSource};
use kiln_krm::parallel::{Worth, try_map};
use kiln_package::{DiskFiles, available_threads};
use kiln_store::{KeyHasher, ResultKey};
use serde::{Deserialize, Serialize};

/// One thing that is read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) enum ReadStep {
    List(String),
    Read(String),
}

/// The files of a package, with a trace of everything that was read and of what was there.
///
/// A trace is needed only if the render changes nothing. Hashes that last are slow, so what is read gets a checksum that only
/// this process knows, and the files are read again for the hash: it counts only if the checksums are the same.
pub(crate) struct TracedFiles<'a> {
    files: &'a DiskFiles,
    checksums: RandomState,
    trace: Mutex<Trace>,
}

#[derive(Default)]
struct Trace {
    seen: BTreeMap<ReadStep, u64>,
    /// Whether something was read twice and was not the same.
    has_changed: bool,
}

impl<'a> TracedFiles<'a> {
    pub(crate) fn new(files: &'a DiskFiles) -> TracedFiles<'a> {
        TracedFiles {
            files,
            checksums: RandomState::new(),
            trace: Mutex::default(),
        }
    }

    pub(crate) fn disk(&self) -> &'a DiskFiles {
        self.files
    }

    /// What was read, and the hash of what was there; `None` if that has changed since.
    pub(super) fn trace(&self) -> Option<(Vec<ReadStep>, String)> {
        let trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        if trace.has_changed {
            return None;
        }
        let steps = trace.seen.iter().collect();
        let hashes = try_map(steps, available_threads(), Worth::Files, |(step, seen)| {
            let (checksum, hash) = self.look(step);
            (checksum == *seen).then_some(hash).ok_or(())
        });
        let hash = combined(hashes.ok()?.iter());
        Some((trace.seen.keys().cloned().collect(), hash))
    }

    /// The checksum and the hash of what is there now.
    fn look(&self, step: &ReadStep) -> (u64, ResultKey) {
        match step {
            ReadStep::List(dir) => {
                let listed = self.files.list(dir);
                (self.checksum_of_list(&listed), hash_list(&listed))
            }
            ReadStep::Read(path) => {
                let read = self.files.read(path);
                (self.checksum_of_read(&read), hash_read(&read))
            }
        }
    }

    fn checksum_of_read(&self, read: &Result<Vec<u8>, FileError>) -> u64 {
        let found = read.as_deref().map_err(|error| format!("{error:?}"));
        self.checksums.hash_one(found)
    }

    fn checksum_of_list(&self, listed: &Result<Vec<Entry>, FileError>) -> u64 {
        let found = listed.as_deref().map(sorted);
        let found = found.map_err(|error| format!("{error:?}"));
        self.checksums.hash_one(found)
    }

    fn note(&self, step: ReadStep, seen: u64) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        let before = trace.seen.insert(step, seen);
        trace.has_changed |= before.is_some_and(|before| before != seen);
    }
}

impl FileSource for TracedFiles<'_> {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        let listed = self.files.list(dir);
        let checksum = self.checksum_of_list(&listed);
        self.note(ReadStep::List(dir.to_owned()), checksum);
        listed
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let read = self.files.read(path);
        let checksum = self.checksum_of_read(&read);
        self.note(ReadStep::Read(path.to_owned()), checksum);
        read
    }
}

/// The hash of what is there now.
pub(super) fn hash(files: &dyn FileSource, steps: &[ReadStep], threads: NonZeroUsize) -> String {
    let steps: Vec<&ReadStep> = steps.iter().collect();
    let hashes = try_map(steps, threads, Worth::Files, |step| {
        Ok::<_, Infallible>(match step {
            ReadStep::List(dir) => hash_list(&files.list(dir)),
            ReadStep::Read(path) => hash_read(&files.read(path)),
        })
    });
    match hashes {
        Ok(hashes) => combined(hashes.iter()),
    }
}

fn combined<'a>(hashes: impl ExactSizeIterator<Item = &'a ResultKey>) -> String {
    let hashes = hashes.map(|hash| hash.hex().as_bytes());
    KeyHasher::new(0).list(hashes).finish().hex().to_owned()
}

fn hash_read(read: &Result<Vec<u8>, FileError>) -> ResultKey {
    match read {
        Ok(bytes) => KeyHasher::new(1).field(bytes).finish(),
        Err(error) => hash_error(error),
    }
}

fn hash_list(listed: &Result<Vec<Entry>, FileError>) -> ResultKey {
    let entries = match listed {
        Ok(entries) => sorted(entries),
        Err(error) => return hash_error(error),
    };
    let fields = entries
        .iter()
        .flat_map(|(name, kind)| [name.as_bytes(), kind])
        .collect::<Vec<_>>();
    KeyHasher::new(2).list(fields.into_iter()).finish()
}

/// Names and kinds. Entries are in any order.
fn sorted(entries: &[Entry]) -> Vec<(&str, &[u8])> {
    let mut entries: Vec<(&str, &[u8])> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), kind_name(entry.kind)))
        .collect();
    entries.sort_unstable();
    entries
}

fn hash_error(error: &FileError) -> ResultKey {
    let text = format!("{error:?}");
    KeyHasher::new(3).field(text.as_bytes()).finish()
}

fn kind_name(kind: EntryKind) -> &'static [u8] {
    match kind {
        EntryKind::File => b"file",
        EntryKind::Directory => b"directory",
        EntryKind::SymlinkToFile => b"link to file",
        EntryKind::SymlinkToDirectory => b"link to directory",
        EntryKind::Other => b"other",
    }
}

#[cfg(test)]
mod tests {
    use kiln_package::OutsideLinks;

    use super::*;

    /// The trace after a file was read and listed and then changed.
    #[track_caller]
    fn traced(change: impl Fn(&std::path::Path)) -> Option<(Vec<ReadStep>, String)> {
        let package = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| package.path().join(name);
        std::fs::write(path("a.yaml"), "a: 1\n").expect("writes");
        let files = DiskFiles::open(package.path(), OutsideLinks::Refuse).expect("opens");
        let traced = TracedFiles::new(&files);
        traced.list("").expect("lists");
        assert_eq!(traced.read("a.yaml"), Ok(b"a: 1\n".to_vec()));
        assert!(traced.read("b.yaml").is_err());
        change(package.path());
        let trace = traced.trace();
        if let Some((steps, expected)) = &trace {
            assert_eq!(hash(&files, steps, NonZeroUsize::MIN), *expected);
        }
        trace
    }

    #[test]
    fn what_has_changed_since_it_was_read_has_no_trace() {
        let steps = traced(|_| {}).map(|(steps, _)| steps.len());
        assert_eq!(steps, Some(3));
        // As long as before.
        assert_eq!(
            traced(|root| std::fs::write(root.join("a.yaml"), "a: 2\n").expect("writes")),
            None
        );
        assert_eq!(
            traced(|root| std::fs::write(root.join("b.yaml"), "").expect("writes")),
            None
        );
        assert_eq!(
            traced(|root| std::fs::remove_file(root.join("a.yaml")).expect("removes")),
            None
        );
        let same = traced(|root| std::fs::write(root.join("a.yaml"), "a: 1\n").expect("writes"));
        assert!(same.is_some());
    }
}
