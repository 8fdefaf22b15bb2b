//! The files of an archive, and reproducible archives of them.
//!
//! The same files give the same bytes: entries are sorted, all belong to root, and all have one time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};

/// A file with its permissions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PackedFile {
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

/// Files by their path in an archive, without a leading slash.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct PackedFiles(BTreeMap<String, PackedFile>);

impl PackedFiles {
    /// Adds a file that everyone may read.
    pub(super) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.insert(path.into(), 0o644, bytes.into());
    }

    /// Adds a file that everyone may run.
    pub(super) fn add_program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.insert(path.into(), 0o755, bytes.into());
    }

    fn insert(&mut self, path: String, mode: u32, bytes: Vec<u8>) {
        self.0.insert(path, PackedFile { mode, bytes });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &PackedFile)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The same files below a directory.
    pub(super) fn below(self, directory: &str) -> PackedFiles {
        let moved = |(path, file)| (format!("{directory}/{path}"), file);
        PackedFiles(self.0.into_iter().map(moved).collect())
    }

    /// A tar archive, in which the directories precede their files.
    pub(super) fn tar(&self, time: u64) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut directories = BTreeSet::new();
        for (path, file) in self.iter() {
            for (at, _) in path.match_indices('/') {
                let directory = &path[..=at];
                if directories.insert(directory) {
                    let mut header = header(tar::EntryType::Directory, 0o755, time);
                    archive.append_data(&mut header, directory, io::empty())?;
                }
            }
            let mut header = header(tar::EntryType::Regular, file.mode, time);
            header.set_size(file.bytes.len() as u64);
            let added = archive.append_data(&mut header, path, &*file.bytes);
            added.with_context(|| format!("cannot add {path} to an archive"))?;
        }
        Ok(archive.into_inner()?)
    }

    /// A compressed tar archive.
    pub(super) fn tar_gz(&self, time: u64) -> Result<Vec<u8>> {
        gzip(&self.tar(time)?)
    }
}

fn header(kind: tar::EntryType, mode: u32, time: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(time);
    header.set_size(0);
    header
}

/// Compresses without a name or a time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
