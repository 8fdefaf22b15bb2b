//! What functions return that is not shaped as what they got.

use kiln_render::RenderCompat;

use crate::setup::{After, Body, kptfile, rendered};

const YAML: &str = "\
# about
apiVersion: v1
kind: Thing
metadata:
  name: a # the name
map: # of the map
  x: 1
list: # of the list
- 1
- y: 2
text: words # of the text
last: true # stays
";

const JSON: &str = "\
{
  \"apiVersion\": \"v1\",
  \"kind\": \"Thing\",
  \"metadata\": {\"name\": \"j\"},
  \"map\": {\"x\": 1},
  \"list\": [1, {\"y\": 2}],
  \"text\": \"words\",
  \"last\": true
}
";

#[track_caller]
fn render(compat: RenderCompat, function: Body) -> After {
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    let files = [
        ("Kptfile", root.as_str()),
        ("a.yaml", YAML),
        ("j.json", JSON),
    ];
    rendered(compat, &files, &[("function", function)])
}

/// Replaces the values of `map`, `list` and `text` of both resources.
fn with_values(input: &str, [map, list, text]: [&str; 3]) -> (i32, String, &'static str) {
    let output = input
        .replace(" # of the map\n    x: 1\n", &format!(" {map}\n"))
        .replace(" # of the list\n  - 1\n  - y: 2\n", &format!(" {list}\n"))
        .replace("{\"x\": 1}", map)
        .replace("[1, {\"y\": 2}]", list)
        .replace("\"words\"", text)
        .replace("words", text);
    (0, output, "")
}

#[track_caller]
fn check(function: Body, fields: &[&str]) {
    let after = render(RenderCompat::Kiln, function);
    assert_eq!(after.message(), "");
    for path in ["a.yaml", "j.json"] {
        let text = after.file(path).replace('"', "");
        for field in fields {
            assert!(text.contains(field), "{path}: {field}: {text}");
        }
    }
    let yaml = after.file("a.yaml");
    for comment in ["# about\n", "name: a # the name\n", "last: true # stays\n"] {
        assert!(yaml.contains(comment), "{comment}: {yaml}");
    }
}

#[test]
fn fields_may_become_null() {
    check(
        |input| with_values(input, ["null", "null", "null"]),
        &["map: null", "list: null", "text: null"],
    );
}

#[test]
fn fields_may_become_scalars() {
    check(
        |input| with_values(input, ["one", "two", "3"]),
        &["map: one", "list: two", "text: 3"],
    );
}

#[test]
fn fields_may_change_between_maps_lists_and_scalars() {
    check(
        |input| with_values(input, ["[m]", "{l: m}", "{t: m}"]),
        &["l: m", "t: m"],
    );
    check(
        |input| with_values(input, ["5", "6", "[{n: m}]"]),
        &["n: m"],
    );
}

#[test]
fn kpt_refuses_a_field_of_another_kind() {
    let after = render(RenderCompat::Kpt, |input| {
        with_values(input, ["one", "[]", "t"])
    });
    let message = after.message();
    assert!(message.contains("wrong node kind"), "{message}");
}

const MARKS: [&str; 3] = [
    "internal.config.kubernetes.io",
    "config.k8s.io/id",
    "config.kubernetes.io/path",
];

/// Whatever a function does to the lines of its list, no internal annotation gets into a file.
#[track_caller]
fn check_marks(function: Body) {
    let after = render(RenderCompat::Kiln, function);
    for (path, text) in &after.files {
        for mark in MARKS {
            assert!(!text.contains(mark), "{path}: {text}");
        }
    }
    assert_eq!(after.message(), "");
}

#[test]
fn annotations_under_another_name_lose_their_marks() {
    check_marks(|input| (0, input.replace("    annotations:", "    notes:"), ""));
}

#[test]
fn repeated_annotations_lose_their_marks() {
    check_marks(|input| {
        let twice = |line: &str| match line.starts_with("      ") && line.contains("config.k") {
            true => format!("{line}\n{line}\n"),
            false => format!("{line}\n"),
        };
        (0, input.lines().map(twice).collect(), "")
    });
}

#[test]
fn a_number_that_was_not_given_out_is_removed() {
    check_marks(|input| {
        let output = input
            .replace("id: '", "id: '7")
            .replace("resource-id: '7", "resource-id: '");
        (0, output, "")
    });
}

#[test]
fn a_resource_inside_another_loses_its_marks() {
    check_marks(|input| {
        let item = "- apiVersion: v1\n  kind: Outer\n  metadata:\n    name: outer\n  spec:\n    manifests:\n";
        let items = input.split("items:\n").nth(1).unwrap_or_default();
        let nested: String = items.lines().map(|line| format!("    {line}\n")).collect();
        (0, format!("{input}{item}{nested}"), "")
    });
}

#[test]
fn marks_in_the_users_own_text_stay() {
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    let stored = "apiVersion: v1\nkind: Stored\nmetadata:\n  name: old\nspec:\n  config.kubernetes.io/path: 'a.yaml'\n";
    let files = [("Kptfile", root.as_str()), ("a.yaml", stored)];
    let after = rendered(
        RenderCompat::Kiln,
        &files,
        &[("function", |input| (0, input.replace("old", "new"), ""))],
    );
    assert_eq!(after.file("a.yaml"), stored.replace("old", "new"));
}

const COMMENTED_LIST: &str = "\
apiVersion: v1
kind: Thing
metadata:
  name: a
list:
# before one
- name: one # behind one
  # in one
  image: x
# before two
- # before the name of two
  name: two
  image: y
texts:
# before b
- b # behind b
";

/// A function that loses comments, sorts fields and puts an item first.
#[test]
fn an_item_inserted_first_takes_no_comments() {
    let function: Body = |input| {
        let (head, _) = input.split_once("list:").unwrap_or((input, ""));
        let list = "list:\n  - name: zero\n  - image: x\n    name: one\n  - image: y\n    name: two\n  texts:\n  - a\n  - b\n";
        (0, format!("{head}{list}"), "")
    };
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    let files = [("Kptfile", root.as_str()), ("a.yaml", COMMENTED_LIST)];
    let after = rendered(RenderCompat::Kiln, &files, &[("function", function)]);
    assert_eq!(after.message(), "");
    let expected = COMMENTED_LIST
        .replace("# before one\n", "- name: zero\n# before one\n")
        .replace("# before b\n", "- a\n# before b\n");
    assert_eq!(after.file("a.yaml"), expected);
}

/// As libraries in Go write it: the comment of an item's first field stands above the item.
#[test]
fn a_comment_of_a_first_field_is_not_doubled() {
    let function: Body = |input| {
        let output = input.replace(
            "- # before the name of two\n",
            "# before the name of two\n  -\n",
        );
        (0, output.replace("image: y", "image: z"), "")
    };
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    let files = [("Kptfile", root.as_str()), ("a.yaml", COMMENTED_LIST)];
    let after = rendered(RenderCompat::Kiln, &files, &[("function", function)]);
    assert_eq!(after.message(), "");
    let expected = COMMENTED_LIST.replace("image: y", "image: z");
    assert_eq!(after.file("a.yaml"), expected);
}

#[test]
fn the_second_of_two_equal_keys_keeps_its_value() {
    let function: Body = |input| (0, input.replace("x: 1", "x: 2"), "");
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    let yaml =
        "metadata:\n  name: a\napiVersion: v1\nkind: Thing\nx: 1\nmetadata:\n  name: b # second\n";
    let files = [("Kptfile", root.as_str()), ("a.yaml", yaml)];
    let after = rendered(RenderCompat::Kiln, &files, &[("function", function)]);
    assert_eq!(after.message(), "");
    assert_eq!(after.file("a.yaml"), yaml.replace("x: 1", "x: 2"));
}

#[test]
fn folded_text_with_indented_lines_keeps_its_value() {
    let function: Body = |input| (0, input.replace("x: 1", "x: 2"), "");
    let root = kptfile(
        "r",
        "pipeline:\n  mutators:\n  - exec: function\n  - exec: function\n",
    );
    let yaml = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\nx: 1\ntext: >\n  one\n\n    indented\n\n  two\n";
    let files = [("Kptfile", root.as_str()), ("a.yaml", yaml)];
    let after = rendered(RenderCompat::Kiln, &files, &[("function", function)]);
    assert_eq!(after.message(), "");
    assert_eq!(after.file("a.yaml"), yaml.replace("x: 1", "x: 2"));
}
