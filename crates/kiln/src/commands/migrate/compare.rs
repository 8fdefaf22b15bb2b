//! Compares two states of a package: what differs in content, and what only in layout.

use std::collections::BTreeSet;

use kiln_krm::annotations::SEQINDENT;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::read::read_loose_file;
use kiln_krm::{Dialect, EditableText, Resource};
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

/// A package without the status in its Kptfiles. Only newer tools write it, and older ones cannot read what newer ones wrote.
pub(super) fn without_status(mut contents: Contents) -> Contents {
    let is_kptfile = |path: &&PackagePath| is_kptfile(path.as_str());
    let kptfiles: Vec<PackagePath> = contents.paths().filter(is_kptfile).cloned().collect();
    for path in kptfiles {
        let bytes = contents.bytes(path.as_str());
        if let Some(changed) = bytes.and_then(kptfile_without_status) {
            // The path is that of a file.
            let _ = contents.write(path, &changed);
        }
    }
    contents
}

/// `None` if there is no status, or the file is not a Kptfile that can be read.
fn kptfile_without_status(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut kptfile = EditableText::read_kptfile(bytes)?;
    let mut root = kptfile.document_mut().root_mut();
    root.remove(&["status"]).ok()?;
    kptfile.changed()
}

fn is_kptfile(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE_NAME)
}

/// The contents of these files only.
pub(super) fn only(files: &[DifferentFile], contents: &Contents) -> Contents {
    let mut kept = Contents::new();
    for (path, file) in contents.iter() {
        if files
            .iter()
            .any(|different| different.path == path.as_str())
        {
            // A part of contents is free of clashes too.
            let _ = kept.insert(path.clone(), file.clone());
        }
    }
    kept
}

/// The files that differ, sorted. The layout of Kptfiles does not count: a tool that writes the status encodes them again.
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
    let same_values = |old: &[Resource], new: &[Resource]| {
        let mut pairs = old.iter().zip(new);
        old.len() == new.len() && pairs.all(|(old, new)| old.root().value_eq(new.root()))
    };
    match (read(old), read(new)) {
        (Some(old), Some(new)) if same_values(&old, &new) => {
            (!is_kptfile(path)).then_some(FileDifference::Layout)
        }
        _ => Some(FileDifference::Content),
    }
}

/// The documents of a file, without the annotation that reading adds for the layout of their lists.
fn read(bytes: &[u8]) -> Option<Vec<Resource>> {
    let mut resources = read_loose_file(bytes.to_vec(), Dialect::Current).ok()?;
    for resource in &mut resources {
        let mut root = resource.document_mut().root_mut();
        // What has no annotations has none to remove.
        let _ = root.remove(&["metadata", "annotations", SEQINDENT]);
    }
    Some(resources)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";

    fn contents(files: &[(&str, &str)]) -> Contents {
        let mut contents = Contents::new();
        for (path, text) in files {
            contents.insert_text(path, text).expect("a file");
        }
        contents
    }

    #[track_caller]
    fn check(old: &Contents, new: &Contents, expected: &[&str]) {
        let found = different_files(old, new);
        let found: Vec<String> = found.iter().map(DifferentFile::text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn layout_and_content_are_kept_apart() {
        let old = contents(&[
            (
                "Kptfile",
                "# A package\napiVersion: kpt.dev/v1\nkind: Kptfile\n",
            ),
            ("same.yaml", "a: 1\n"),
            ("layout.yaml", "kind: A\nlist: [1, 2] # two\n"),
            ("indented.yaml", "kind: A\nlist:\n  - 1\n"),
            ("value.yaml", "kind: A\nvalue: \"1\"\n"),
            ("gone.yaml", "kind: A\n"),
            ("notes.txt", "- a\n\tb: c\n"),
        ]);
        let new = contents(&[
            ("Kptfile", "apiVersion: kpt.dev/v1\nkind: \"Kptfile\"\n"),
            ("same.yaml", "a: 1\n"),
            ("layout.yaml", "kind: A\nlist:\n- 1\n- 2\n"),
            ("indented.yaml", "kind: A\nlist:\n- 1\n"),
            ("value.yaml", "kind: A\nvalue: 1\n"),
            ("new.yaml", "kind: A\n"),
            ("notes.txt", "- a\n\tb: d\n"),
        ]);
        check(
            &old,
            &new,
            &[
                "gone.yaml",
                "indented.yaml (layout only)",
                "layout.yaml (layout only)",
                "new.yaml",
                "notes.txt",
                "value.yaml",
            ],
        );
        let found = different_files(&old, &new);
        let kept = only(&found, &old);
        assert_eq!((kept.len(), kept.bytes("same.yaml")), (5, None));
    }

    #[test]
    fn the_status_of_kptfiles_is_removed() {
        let conditions = "status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n";
        let steps = "status:\n  renderStatus:\n    mutationSteps: []\n";
        let info = "info:\n  description: a\n";
        for (status, rest) in [
            (conditions, ""),
            (steps, ""),
            ("status: {}\n", ""),
            (steps, info),
        ] {
            let package = contents(&[
                ("Kptfile", &format!("{KPTFILE}{status}{rest}")),
                ("sub/Kptfile", &format!("{status}{KPTFILE}")),
                ("a.yaml", &format!("kind: A\n{status}")),
            ]);
            let plain = contents(&[
                ("Kptfile", &format!("{KPTFILE}{rest}")),
                ("sub/Kptfile", KPTFILE),
                ("a.yaml", &format!("kind: A\n{status}")),
            ]);
            assert_eq!(without_status(package), plain);
        }
        let invalid = contents(&[("Kptfile", "a: [\n")]);
        assert_eq!(without_status(invalid.clone()), invalid);
    }

    #[test]
    fn another_value_in_a_kptfile_counts() {
        let renamed = KPTFILE.replace("name: a", "name: b");
        let (old, new) = (
            contents(&[("Kptfile", KPTFILE)]),
            contents(&[("Kptfile", &renamed)]),
        );
        check(&old, &new, &["Kptfile"]);
    }
}
