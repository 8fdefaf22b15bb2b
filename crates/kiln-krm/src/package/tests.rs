//! Planning writes: unchanged bytes stay, changed documents are encoded, bad places are refused.

use super::*;
use crate::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use crate::dialect::Dialect;
use crate::read::FileOptions;
use crate::resource::Resource;

const REENCODE: Bytes = Bytes::Reencode;

fn options(bytes: Bytes) -> WriteOptions {
    WriteOptions {
        bytes,
        package: "/pkg".to_owned(),
        ..WriteOptions::default()
    }
}

fn read(files: &[(&str, &str)]) -> (Vec<Resource>, ReadSet) {
    let source: MemoryFiles = files.iter().copied().collect();
    let list = ListOptions::new(Dialect::Current, Subpackages::Include);
    let resources = read_package(&source, &list, &FileOptions::default()).unwrap();
    let before = ReadSet::of(&resources);
    (resources, before)
}

/// The plan as (path, new content or nothing), after an edit of the resources.
fn plan(
    files: &[(&str, &str)],
    bytes: Bytes,
    edit: impl FnOnce(&mut Vec<Resource>),
) -> Vec<(String, Option<String>)> {
    let (mut resources, before) = read(files);
    edit(&mut resources);
    let changes = plan_write(resources, &before, &options(bytes)).unwrap();
    let content = |action| match action {
        FileAction::Write(bytes) => Some(String::from_utf8(bytes).unwrap()),
        FileAction::Delete => None,
    };
    changes
        .into_iter()
        .map(|change| (change.path, content(change.action)))
        .collect()
}

#[track_caller]
fn check(
    files: &[(&str, &str)],
    bytes: Bytes,
    edit: impl FnOnce(&mut Vec<Resource>),
    changes: &[(&str, Option<&str>)],
) {
    let planned = plan(files, bytes, edit);
    let planned: Vec<_> = planned
        .iter()
        .map(|(path, content)| (path.as_str(), content.as_deref()))
        .collect();
    assert_eq!(planned, changes);
}

fn resource(text: &str) -> Resource {
    Resource::new(kiln_yaml::parse(text).unwrap().unwrap())
}

fn set(resource: &mut Resource, key: &str, value: &str) {
    resource
        .document_mut()
        .root_mut()
        .set_string(&[key], value)
        .unwrap();
}

fn moved(mut resource: Resource, path: &str) -> Resource {
    resource.set_annotation(PATH, path).unwrap();
    resource.set_annotation(LEGACY_PATH, path).unwrap();
    resource
}

const TWO: &str = "# licence\n---\na:   1 # x\n\n\nb: [ 1,2 ]\n--- # sep\n\nc:   2\n";

#[test]
fn what_nothing_changed_is_not_in_the_plan() {
    check(
        &[("f.yaml", TWO), ("g.json", "{\"b\":1.0,\n\"a\":2}")],
        Bytes::Keep,
        |_| {},
        &[],
    );
    check(
        &[("f.yaml", "metadata: {annotations: {}}\na:  1\n")],
        Bytes::Keep,
        |_| {},
        &[],
    );
    let mine = "metadata:\n  annotations:\n    config.kubernetes.io/path: 'mine'\n";
    check(&[("f.yaml", mine)], Bytes::Keep, |_| {}, &[]);
}

#[test]
fn a_change_undone_is_no_change() {
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        |resources| {
            resources[0].set_annotation("x", "y").unwrap();
            resources[0].remove_annotation("x").unwrap();
        },
        &[],
    );
}

#[test]
fn a_tree_that_comes_back_the_same_keeps_its_bytes() {
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        |resources| {
            for resource in resources {
                let copy = kiln_yaml::Document::from_node(resource.root());
                *resource = Resource::new(copy);
            }
        },
        &[],
    );
}

#[test]
fn only_what_changed_is_encoded() {
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        |resources| set(&mut resources[1], "d", "x"),
        &[(
            "f.yaml",
            Some("# licence\n---\na:   1 # x\n\n\nb: [ 1,2 ]\n--- # sep\n\nc:   2\nd: x\n"),
        )],
    );
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        |resources| set(&mut resources[0], "d", "x"),
        &[(
            "f.yaml",
            Some("# licence\n---\na:   1 # x\n\n\nb: [ 1,2 ]\nd: x\n--- # sep\n\nc:   2\n"),
        )],
    );
}

#[test]
fn styles_that_only_a_function_changed_do_not_count() {
    let text = "a:   \"x\"\nb: >\n  folded\n  text\nc: [1, 2]\nd: 'y'\n";
    check(
        &[("f.yaml", text)],
        Bytes::Keep,
        |resources| {
            // What a function without manners makes of it.
            let other = resource("a: x\nb: \"folded text\\n\"\nc:\n- 1\n- 2\nd: z\n");
            let origin = resources[0].origin().cloned();
            resources[0] = moved(other, "f.yaml").with_origin(origin);
        },
        &[(
            "f.yaml",
            Some("a:   \"x\"\nb: >\n  folded\n  text\nc: [1, 2]\nd: z\n"),
        )],
    );
}

#[test]
fn removed_and_added_documents() {
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        |resources| drop(resources.remove(0)),
        &[("f.yaml", Some("# licence\n---\n\nc:   2\n"))],
    );
    check(
        &[("f.yaml", "a:  1")],
        Bytes::Keep,
        |resources| resources.push(moved(resource("kind: B\n"), "f.yaml")),
        &[("f.yaml", Some("a:  1\n---\nkind: B\n"))],
    );
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        Vec::clear,
        &[("f.yaml", None)],
    );
}

#[test]
fn a_line_break_that_would_change_a_value_is_not_added() {
    check(
        &[("f.yaml", "a:   |\n  x")],
        Bytes::Keep,
        |resources| resources.push(moved(resource("kind: B\n"), "f.yaml")),
        &[("f.yaml", Some("a: |-\n  x\n---\nkind: B\n"))],
    );
}

#[test]
fn a_document_moves_with_its_bytes() {
    check(
        &[("f.yaml", TWO)],
        Bytes::Keep,
        |resources| {
            let last = resources.pop().unwrap();
            resources.push(moved(last, "./new//g.yaml"));
        },
        &[
            (
                "f.yaml",
                Some("# licence\n---\na:   1 # x\n\n\nb: [ 1,2 ]\n"),
            ),
            ("new/g.yaml", Some("\nc:   2\n")),
        ],
    );
}

#[test]
fn line_breaks_of_a_file_stay_what_they_are() {
    check(
        &[("f.yaml", "a:  1\r\n---\r\nb:  1\r\n")],
        Bytes::Keep,
        |resources| set(&mut resources[1], "c", "x"),
        &[("f.yaml", Some("a:  1\r\n---\r\nb:  1\r\nc: x\r\n"))],
    );
}

#[test]
fn a_changed_document_moves_with_its_line_breaks() {
    check(
        &[("f.yaml", "a:  1\r\nb:  1\r\n")],
        Bytes::Keep,
        |resources| {
            let mut only = resources.remove(0);
            set(&mut only, "b", "x");
            resources.push(moved(only, "g.yaml"));
        },
        &[("f.yaml", None), ("g.yaml", Some("a:  1\r\nb: x\r\n"))],
    );
}

#[test]
fn a_leading_separator_and_empty_documents_at_the_end_stay() {
    check(
        &[("f.yaml", "---\na:  1\n---\n# end\n")],
        Bytes::Keep,
        |resources| set(&mut resources[0], "b", "x"),
        &[("f.yaml", Some("---\na:  1\nb: x\n---\n# end\n"))],
    );
}

#[test]
fn sequences_that_are_documents_are_unwrapped() {
    check(&[("f.yaml", "-   1\n")], Bytes::Keep, |_| {}, &[]);
    check(
        &[("f.yaml", "-   1\n")],
        REENCODE,
        |_| {},
        &[("f.yaml", Some("- 1\n"))],
    );
    check(
        &[("f.json", "[1,  2]")],
        Bytes::Keep,
        |resources| {
            let document = resources[0].document_mut();
            let item = document.new_scalar("3", "");
            document
                .root_mut()
                .append(&["bareSeqNodeWrappingKey"], item)
                .unwrap();
        },
        &[("f.json", Some("[\n  1,\n  2,\n  3\n]\n"))],
    );
}

#[test]
fn encoding_everything_anew() {
    check(
        &[
            ("f.yaml", TWO),
            ("g.json", "{\"b\":1.0,\n\"a\":\"<\"}"),
            ("same.yaml", "a: 1\n"),
        ],
        REENCODE,
        |_| {},
        &[
            ("f.yaml", Some("a: 1 # x\nb: [1, 2]\n---\nc: 2\n")),
            ("g.json", Some("{\n  \"a\": \"\\u003c\",\n  \"b\": 1\n}\n")),
        ],
    );
    check(
        &[("f.yaml", "a:\n  - 1\n---\nb:\n- 1\n  \n")],
        REENCODE,
        |_| {},
        &[("f.yaml", Some("a:\n  - 1\n---\nb:\n- 1\n"))],
    );
    check(
        &[("g.json", "{\"b\":1.0}\n---\n{\"a\":1}\n")],
        REENCODE,
        |_| {},
        &[("g.json", Some("{\"b\": 1.0}\n---\n{\"a\": 1}\n"))],
    );
}

#[test]
fn newcomers_get_a_path_and_come_last() {
    let new = |name: &str| resource(&format!("kind: Deployment\nmetadata:\n  name: {name}\n"));
    check(
        &[],
        Bytes::Keep,
        |resources| {
            let mut spaced = new("b");
            spaced
                .document_mut()
                .root_mut()
                .set_namespace("ns")
                .unwrap();
            resources.extend([new("a"), spaced]);
        },
        &[
            (
                "deployment_a.yaml",
                Some("kind: Deployment\nmetadata:\n  name: a\n"),
            ),
            (
                "ns/deployment_b.yaml",
                Some("kind: Deployment\nmetadata:\n  name: b\n  namespace: ns\n"),
            ),
        ],
    );
    check(
        &[("f.yaml", "a: 1\n---\nb: 1\n")],
        Bytes::Keep,
        |resources| {
            resources.insert(0, moved(resource("kind: C\n"), "f.yaml"));
            resources.insert(0, moved(resource("kind: D\n"), "f.yaml"));
        },
        // The first newcomer shares the highest index and comes before its owner, as it does in the list.
        &[(
            "f.yaml",
            Some("a: 1\n---\nkind: D\n---\nb: 1\n---\nkind: C\n"),
        )],
    );
}

#[test]
fn packages_inside_a_package_remember_the_whole_path() {
    let options = FileOptions::default();
    let read = |dir: &str, text: &str| {
        let outer = format!("{dir}/f.yaml");
        crate::read::read_inner_file(&outer, "f.yaml", text.into(), &options).unwrap()
    };
    let mut resources = [read("a", "a:  1\n"), read("b", "b:  1\n")].concat();
    let before = ReadSet::of(&resources);
    assert_eq!(resources[0].file_place().0, "f.yaml");
    for (resource, path) in resources.iter_mut().zip(["a/f.yaml", "b/f.yaml"]) {
        *resource = moved(resource.clone(), path);
    }
    let plan = plan_write(resources, &before, &self::options(Bytes::Keep));
    assert_eq!(plan, Ok(Vec::new()));
}

#[track_caller]
fn refused(annotations: &[(&str, &str)], message: &str) {
    let mut resource = resource("kind: A\n");
    for (key, value) in annotations {
        resource.set_annotation(key, value).unwrap();
    }
    let other = moved(self::resource("kind: B\n"), "f.yaml");
    let error = plan_write(
        vec![resource, other],
        &ReadSet::default(),
        &options(Bytes::Keep),
    );
    assert_eq!(error.unwrap_err().to_string(), message);
}

#[test]
fn places_that_are_refused() {
    let under = |path: &str| format!("resource must be written under package /pkg: {path}");
    refused(
        &[(PATH, "/etc/passwd")],
        "package paths may not be absolute paths",
    );
    refused(&[(PATH, "../x.yaml")], &under("../x.yaml"));
    refused(&[(LEGACY_PATH, "a/../../x.yaml")], &under("../x.yaml"));
    refused(&[(PATH, "foo..bar.yaml")], &under("foo..bar.yaml"));
    refused(
        &[(PATH, "a/..")],
        "config.kubernetes.io/path cannot be a directory: .",
    );
    refused(
        &[(PATH, "f.yaml/x")],
        "config.kubernetes.io/path cannot be a directory: f.yaml",
    );
    refused(
        &[(PATH, "a\0b")],
        "a file's path cannot have a NUL in it: a\\0b",
    );
    let long = "x".repeat(256);
    let too_long = |path: &str| format!("path too long (255 bytes a name, 4096 in all): {path}");
    refused(&[(PATH, &long)], &too_long(&long));
    let deep = "abcdefg/".repeat(600) + "x";
    refused(&[(PATH, &deep)], &too_long(&deep));
    let missing = |key| format!("resources must be annotated with {key} to be written to files");
    refused(&[(PATH, "")], &missing(PATH));
    refused(&[(INDEX, "")], &missing(INDEX));
    refused(
        &[(PATH, "f.yaml"), (INDEX, "x")],
        "unable to parse config.kubernetes.io/index x :strconv.Atoi: parsing \"x\": invalid syntax",
    );
}

#[test]
fn an_index_is_looked_at_only_to_compare_it() {
    let mut single = moved(resource("kind: A\n"), "f.yaml");
    single.set_annotation(LEGACY_INDEX, "x").unwrap();
    let changes = plan_write(vec![single], &ReadSet::default(), &options(Bytes::Keep)).unwrap();
    assert_eq!(changes.len(), 1);
}

#[test]
fn nothing_at_all_is_not_a_resource() {
    let error = plan_write(
        vec![resource("{}\n")],
        &ReadSet::default(),
        &options(Bytes::Keep),
    );
    assert_eq!(error.unwrap_err().to_string(), "missing Resource metadata");
}

#[test]
fn emptied_files_can_be_left_alone() {
    let (_, before) = read(&[("f.yaml", "a: 1\n"), ("empty.yaml", "# nothing\n")]);
    let mut options = options(Bytes::Keep);
    assert_eq!(plan_write(Vec::new(), &before, &options).unwrap().len(), 1);
    options.emptied_files = EmptiedFiles::Leave;
    assert!(
        plan_write(Vec::new(), &before, &options)
            .unwrap()
            .is_empty()
    );
}
