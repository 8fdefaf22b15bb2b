//! What a render reads of a package, so that it can be compared later.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use kiln_krm::package::{Entry, EntryKind, FileError, FileSource};
use kiln_krm::parallel::{Worth, try_map};
use kiln_package::DiskFiles;
use kiln_store::{KeyHasher, ResultKey};
use serde::{Deserialize, Serialize};

/// One thing that is read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) enum ReadStep {
    List(String),
    Read(String),
}

/// The files of a package, with a trace of everything that was read and of what was there.
pub(crate) struct TracedFiles<'a> {
    files: &'a DiskFiles,
    trace: Mutex<Trace>,
}

#[derive(Default)]
struct Trace {
    seen: BTreeMap<ReadStep, ResultKey>,
    /// Whether something was read twice and was not the same.
    has_changed: bool,
}

impl<'a> TracedFiles<'a> {
    pub(crate) fn new(files: &'a DiskFiles) -> TracedFiles<'a> {
        TracedFiles {
            files,
            trace: Mutex::default(),
        }
    }

    pub(crate) fn disk(&self) -> &'a DiskFiles {
        self.files
    }

    /// What was read, and the hash of what was there; `None` if that changed meanwhile.
    pub(super) fn trace(&self) -> Option<(Vec<ReadStep>, String)> {
        let trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        if trace.has_changed {
            return None;
        }
        let hash = combined(trace.seen.values());
        Some((trace.seen.keys().cloned().collect(), hash))
    }

    fn note(&self, step: ReadStep, seen: ResultKey) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        let before = trace.seen.insert(step, seen.clone());
        trace.has_changed |= before.is_some_and(|before| before != seen);
    }
}

impl FileSource for TracedFiles<'_> {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        let listed = self.files.list(dir);
        self.note(ReadStep::List(dir.to_owned()), hash_list(&listed));
        listed
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let read = self.files.read(path);
        self.note(ReadStep::Read(path.to_owned()), hash_read(&read));
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

/// Entries are in any order.
fn hash_list(listed: &Result<Vec<Entry>, FileError>) -> ResultKey {
    let mut entries: Vec<(&str, &[u8])> = match listed {
        Ok(entries) => entries
            .iter()
            .map(|entry| (entry.name.as_str(), kind_name(entry.kind)))
            .collect(),
        Err(error) => return hash_error(error),
    };
    entries.sort_unstable();
    let fields = entries
        .iter()
        .flat_map(|(name, kind)| [name.as_bytes(), kind])
        .collect::<Vec<_>>();
    KeyHasher::new(2).list(fields.into_iter()).finish()
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
