//! Tests of the module above.

use super::*;
use crate::package::MemoryFiles;

#[track_caller]
fn check(files: &[(&str, &str)], subpackages: Subpackages, listed: &[&str]) {
    let source: MemoryFiles = files.iter().copied().collect();
    let options = ListOptions::new(Dialect::Current, subpackages);
    let found = list_package_files(&source, &options).unwrap();
    let found: Vec<_> = found.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(found, listed);
}

#[test]
fn files_come_in_byte_order_with_directories_among_them() {
    check(
        &[
            ("b.yaml", ""),
            ("a/z.yml", ""),
            ("a.json", ""),
            ("a-b/x.yaml", ""),
            ("Kptfile", ""),
            (".hidden.yaml", ""),
            (".git/config.yaml", ""),
            ("README.md", ""),
            ("x.YAML", ""),
        ],
        Subpackages::Skip,
        &[
            ".git/config.yaml",
            ".hidden.yaml",
            "Kptfile",
            "a/z.yml",
            "a-b/x.yaml",
            "a.json",
            "b.yaml",
        ],
    );
}

const NESTED: [(&str, &str); 7] = [
    ("Kptfile", ""),
    (".krmignore", "hid.yaml\nsecret/\n"),
    ("hid.yaml", ""),
    ("d/hid.yaml", ""),
    ("sub/Kptfile", ""),
    ("sub/hid.yaml", ""),
    ("secret/Kptfile", ""),
];

#[test]
fn subpackages_are_skipped_or_included_with_their_own_patterns() {
    check(&NESTED, Subpackages::Skip, &["Kptfile"]);
    check(
        &NESTED,
        Subpackages::Include,
        &["Kptfile", "sub/Kptfile", "sub/hid.yaml"],
    );
    check(&NESTED, Subpackages::Ordinary, &["Kptfile", "sub/Kptfile"]);
}

#[test]
fn patterns_of_a_subpackage_end_with_it() {
    check(
        &[
            ("a/Kptfile", ""),
            ("a/.krmignore", "x.yaml\n"),
            ("a/x.yaml", ""),
            ("a/d/x.yaml", ""),
            ("ab/x.yaml", ""),
            ("x.yaml", ""),
        ],
        Subpackages::Include,
        &["a/Kptfile", "ab/x.yaml", "x.yaml"],
    );
}

/// Recorded with kpt.
#[test]
fn the_original_takes_a_longer_name_for_a_directory_inside() {
    let files = [
        ("a/Kptfile", ""),
        ("a/.krmignore", "x.yaml\n"),
        ("ab/x.yaml", ""),
        ("x.yaml", ""),
    ];
    check(
        &files,
        Subpackages::IncludeByPrefix,
        &["a/Kptfile", "x.yaml"],
    );
}

#[test]
fn patterns_below_the_top_of_a_package_do_not_count() {
    check(
        &[("d/.krmignore", "x.yaml\n"), ("d/x.yaml", "")],
        Subpackages::Include,
        &["d/x.yaml"],
    );
}

struct Links;

impl FileSource for Links {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        let entry = |name: &str, kind| Entry {
            name: name.to_owned(),
            kind,
        };
        match dir {
            "" => Ok(vec![
                entry("to-file.yaml", EntryKind::SymlinkToFile),
                entry("to-dir", EntryKind::SymlinkToDirectory),
                entry("to-dir.yaml", EntryKind::SymlinkToDirectory),
                entry("odd.yaml", EntryKind::Other),
            ]),
            _ => Err(FileError::NotFound(dir.to_owned())),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        Err(FileError::IsDirectory(path.to_owned()))
    }
}

#[test]
fn links_to_directories_are_not_followed() {
    let options = ListOptions::new(Dialect::Current, Subpackages::Include);
    let found = list_package_files(&Links, &options).unwrap();
    let found: Vec<_> = found.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(found, ["odd.yaml", "to-dir.yaml", "to-file.yaml"]);
}
