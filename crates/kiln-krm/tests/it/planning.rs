//! Planning writes over real files and made-up ones: what nothing changed is not written, and what is written is
//! read back as what it was.

use kiln_krm::package::{
    Bytes, FileAction, ListOptions, MemoryFiles, ReadSet, Subpackages, WriteOptions, plan_write,
    read_package,
};
use kiln_krm::read::{FileOptions, read_file};
use kiln_krm::{Dialect, Resource, roundtrip};
use proptest::prelude::*;

use crate::shared::yaml_pairs;

/// What is written for one file; nothing if it stays as it is.
fn written(input: &[u8], bytes: Bytes, edit: impl FnOnce(&mut Vec<Resource>)) -> Option<Vec<u8>> {
    let mut resources = read_file("f.yaml", input.to_vec(), &FileOptions::default()).ok()?;
    let before = ReadSet::of(&resources);
    edit(&mut resources);
    let options = WriteOptions {
        bytes,
        ..WriteOptions::default()
    };
    let changes = plan_write(resources, &before, &options).expect("what was read can be written");
    match changes.into_iter().next()?.action {
        FileAction::Write(content) => Some(content),
        FileAction::Delete => None,
    }
}

#[test]
fn files_nothing_changed_are_not_written() {
    for set in ["real", "edge", "suite", "fuzz"] {
        for case in yaml_pairs(set) {
            let id = &case.id;
            assert_eq!(written(&case.input, Bytes::Keep, |_| {}), None, "{id}");
            // The same for trees that have been somewhere else and come back as they were.
            let replace = |resources: &mut Vec<Resource>| {
                for resource in resources {
                    resource.document_mut();
                }
            };
            assert_eq!(written(&case.input, Bytes::Keep, replace), None, "{id}");
        }
    }
}

#[test]
fn encoding_twice_is_encoding_once() {
    let encode = |text: &str| roundtrip::pkg(text.as_bytes()).unwrap();
    for case in yaml_pairs("real") {
        let Ok(once) = roundtrip::pkg(&case.input) else {
            continue;
        };
        let twice = encode(&once);
        // Of a key that is there twice the writer removes one; the next reader takes the other for its own.
        let has_own_index = once.contains("config.kubernetes.io/index");
        assert!(twice == once || has_own_index, "{}", case.id);
        assert_eq!(encode(&twice), twice, "{}", case.id);
    }
}

/// Changing one document of a file leaves the bytes of all others.
#[test]
fn a_change_stays_in_its_document() {
    for case in yaml_pairs("real") {
        let Ok(resources) = read_file("f.yaml", case.input.clone(), &FileOptions::default()) else {
            continue;
        };
        for changed in 0..resources.len() {
            // A sequence cannot keep an annotation.
            if resources[changed]
                .root()
                .get("bareSeqNodeWrappingKey")
                .is_some()
            {
                continue;
            }
            let content = written(&case.input, Bytes::Keep, |resources| {
                resources[changed].set_annotation("kiln/test", "x").unwrap();
            });
            let content = content.expect("a change is written");
            let again = read_file("f.yaml", content, &FileOptions::default()).unwrap();
            assert_eq!(again.len(), resources.len(), "{}", case.id);
            for (number, (before, after)) in resources.iter().zip(&again).enumerate() {
                let same = before.origin().unwrap().body() == after.origin().unwrap().body();
                let id = &case.id;
                assert!(same || number == changed, "document {number} of {id}");
                let annotation = after.annotation("kiln/test");
                assert_eq!(
                    annotation.is_some(),
                    number == changed,
                    "document {number} of {id}"
                );
            }
        }
    }
}

fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a: 1",
        "b:   x # c",
        "# comment",
        "",
        "---",
        "--- # sep",
        "...",
        "- i",
        "  - j",
        "l:",
        "t: |",
        "  text",
        "metadata:\n  name: n\n  annotations:\n    config.kubernetes.io/path: p",
        "~",
        "{}",
        "f: [1,  2]",
        "\t",
        "e: 😀",
        "\r",
        "k: >",
        "  name: n",
        "    internal.config.kubernetes.io/index: '3'",
        "\u{feff}",
    ])
}

fn text() -> impl Strategy<Value = String> {
    let file = (
        prop::collection::vec(line(), 0..14),
        any::<bool>(),
        any::<bool>(),
    );
    file.prop_map(|(lines, is_crlf, is_ended)| {
        let line_break = if is_crlf { "\r\n" } else { "\n" };
        let end = if is_ended { line_break } else { "" };
        lines.join(line_break) + end
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn unchanged_packages_give_empty_plans(a in text(), b in text()) {
        let source: MemoryFiles = [("a.yaml", a), ("d/b.yaml", b)].into_iter().collect();
        let list = ListOptions::new(Dialect::Current, Subpackages::Skip);
        if let Ok(resources) = read_package(&source, &list, &FileOptions::default()) {
            let before = ReadSet::of(&resources);
            let plan = plan_write(resources, &before, &WriteOptions::default());
            prop_assert_eq!(plan, Ok(Vec::new()));
        }
    }

    /// Removing, repeating and reordering documents keeps the trees of those that are left.
    #[test]
    fn documents_survive_being_moved(text in text(), order in prop::collection::vec(0usize..4, 1..4)) {
        let Ok(resources) = read_file("f.yaml", text.clone().into_bytes(), &FileOptions::default()) else {
            return Ok(());
        };
        let picked: Vec<&Resource> = order.iter().filter_map(|at| resources.get(*at)).collect();
        let moved = |(index, resource): (usize, &&Resource)| {
            let mut resource = (*resource).clone();
            for key in ["config.kubernetes.io/index", "internal.config.kubernetes.io/index"] {
                resource.set_annotation(key, &index.to_string()).unwrap();
            }
            resource
        };
        let moved: Vec<Resource> = picked.iter().enumerate().map(moved).collect();
        let before = ReadSet::of(&resources);
        let plan = plan_write(moved.clone(), &before, &WriteOptions::default()).unwrap();
        let content = match plan.into_iter().next().map(|change| change.action) {
            Some(FileAction::Write(content)) => content,
            Some(FileAction::Delete) => Vec::new(),
            None => text.into_bytes(),
        };
        let again = read_file("f.yaml", content, &FileOptions::default()).unwrap();
        prop_assert_eq!(again.len(), moved.len());
        for (before, after) in moved.iter().zip(&again) {
            prop_assert!(same_value(before, after), "{:?} {:?}", before.root(), after.root());
        }
    }
}

/// Whether two resources mean the same, style and comments aside. Both carry the same notes about their place but
/// for the sequence style, which is guessed anew.
fn same_value(a: &Resource, b: &Resource) -> bool {
    let strip = |resource: &Resource| {
        let mut resource = resource.clone();
        let key = "internal.config.kubernetes.io/seqindent";
        resource.clear_annotations(&[key]).unwrap();
        resource.into_document()
    };
    strip(a).root().value_eq(strip(b).root())
}
