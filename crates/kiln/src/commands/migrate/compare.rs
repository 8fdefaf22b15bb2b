//! Compares two states of a package: what differs in content, and what only in layout.

use std::collections::BTreeSet;

use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::read::read_loose_file;
use kiln_krm::{Dialect, Resource};
use kiln_task::{Contents, PackagePath};

/// A file that is not the same on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DifferentFile {
    path: String,
    pub(super) difference: FileDifference,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileDifference {
    /// Comments, order of fields, quotes or indentation.
    Layout,
    Content,
}

impl DifferentFile {
    pub(super) fn text(&self) -> String {
        match self.difference {
            FileDifference::Layout => format!("{} (layout only)", self.path),
            FileDifference::Content => self.path.clone(),
        }
    }
}

/// The files that differ, sorted. The status that a render writes into a Kptfile does not count.
pub(super) fn different_files(old: &Contents, new: &Contents) -> Vec<DifferentFile> {
    let paths: BTreeSet<&PackagePath> = old.paths().chain(new.paths()).collect();
    let different = paths.into_iter().filter_map(|path| {
        let path = path.as_str();
        let difference = match (old.bytes(path), new.bytes(path)) {
            (Some(old), Some(new)) => compare(path, old, new)?,
            _ => FileDifference::Content,
        };
        Some(DifferentFile {
            path: path.to_owned(),
            difference,
        })
    });
    different.collect()
}

fn compare(path: &str, old: &[u8], new: &[u8]) -> Option<FileDifference> {
    if old == new {
        return None;
    }
    let is_kptfile = path.rsplit('/').next() == Some(FILE_NAME);
    let read = |bytes: &[u8]| {
        let mut resources = read_loose_file(bytes.to_vec(), Dialect::Current).ok()?;
        if is_kptfile {
            for resource in &mut resources {
                // What has no status has none to remove.
                let _ = resource.document_mut().root_mut().remove(&["status"]);
            }
        }
        Some(resources)
    };
    let same_values = |old: &[Resource], new: &[Resource]| {
        let mut pairs = old.iter().zip(new);
        old.len() == new.len() && pairs.all(|(old, new)| old.root().value_eq(new.root()))
    };
    match (read(old), read(new)) {
        (Some(old), Some(new)) if same_values(&old, &new) => {
            // A Kptfile that differs by its status was written for that.
            (!is_kptfile).then_some(FileDifference::Layout)
        }
        _ => Some(FileDifference::Content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(files: &[(&str, &str)]) -> Contents {
        let mut contents = Contents::new();
        for (path, text) in files {
            contents.insert_text(path, text).expect("a file");
        }
        contents
    }

    #[test]
    fn layout_and_content_are_kept_apart() {
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";
        let old = contents(&[
            ("Kptfile", kptfile),
            ("same.yaml", "a: 1\n"),
            ("layout.yaml", "kind: A\nlist: [1, 2] # two\n"),
            ("value.yaml", "kind: A\nvalue: \"1\"\n"),
            ("gone.yaml", "kind: A\n"),
            ("notes.txt", "- a\n\tb: c\n"),
        ]);
        let status = format!("{kptfile}status:\n  conditions: []\n");
        let new = contents(&[
            ("Kptfile", &status),
            ("same.yaml", "a: 1\n"),
            ("layout.yaml", "kind: A\nlist:\n- 1\n- 2\n"),
            ("value.yaml", "kind: A\nvalue: 1\n"),
            ("new.yaml", "kind: A\n"),
            ("notes.txt", "- a\n\tb: d\n"),
        ]);
        let found = different_files(&old, &new);
        let found: Vec<String> = found.iter().map(DifferentFile::text).collect();
        assert_eq!(
            found,
            [
                "gone.yaml",
                "layout.yaml (layout only)",
                "new.yaml",
                "notes.txt",
                "value.yaml"
            ]
        );
    }
}
