//! Patched texts are merged texts, and only usual lines are patched.

mod random;

use kiln_yaml::{Document, SequenceStyle};

use super::super::Unmarked;
use super::patch;

fn parse(text: &str) -> Document {
    kiln_yaml::parse(text).unwrap().unwrap()
}

/// The edits that the tests make: another name, another image, and new fields in mappings that are there.
fn edit(document: &mut Document) {
    let mut root = document.root_mut();
    for path in [["metadata", "name"], ["spec", "image"]] {
        if root.as_ref().get_path(&path).is_some() {
            root.set_string(&path, "other").unwrap();
        }
    }
    for (parent, path) in [
        (
            &["metadata", "labels"][..],
            &["metadata", "labels", "new"][..],
        ),
        (&["metadata"], &["metadata", "namespace"]),
        (&["spec"], &["spec", "selector", "app"]),
    ] {
        let mapping = root.as_ref().get_path(parent);
        if mapping.is_some_and(|mapping| mapping.is_mapping() && !mapping.is_empty()) {
            root.set_string(path, "added").unwrap();
        }
    }
}

fn patched(text: &str) -> Option<String> {
    let before = parse(text);
    let mut after = before.clone();
    edit(&mut after);
    let edits = after.edits_since(&before)?;
    // As it is done before anything is written.
    after.restore_comments(&before, &edits.lost_comments);
    let patched = patch(&before, &after, &edits)?;
    let new = Unmarked {
        document: after,
        style: SequenceStyle::Compact,
    };
    let merged = new.to_yaml_like(text, None, "\n");
    assert_eq!(Some(patched.as_str()), merged.as_deref());
    Some(patched)
}

#[test]
fn values_and_fields_are_put_in_place() {
    let text = "\
# Licence.

apiVersion: v1 # the first
kind:   A
metadata:
    name: a # its name
    labels:
        'x':   \"1\"
spec:
  list: [a,   b]
  image: 'i'
  items:
  - name: p
    text: |
      q

    last: r # end
status: {}
";
    let expected = "\
# Licence.

apiVersion: v1 # the first
kind:   A
metadata:
    name: other # its name
    labels:
        'x':   \"1\"
        new: added
    namespace: added
spec:
  list: [a,   b]
  image: 'other'
  items:
  - name: p
    text: |
      q

    last: r # end
  selector:
    app: added
status: {}
";
    assert_eq!(patched(text).as_deref(), Some(expected));
}

#[test]
fn unusual_lines_are_merged() {
    for text in [
        // A comment behind the last line, or no line break.
        "metadata:\n  labels:\n    a: b\n  # foot\nspec: 1\n",
        "metadata:\n  labels:\n    a: b\n\n# head\nspec: 1\n",
        "metadata:\n  labels:\n    a: b",
        // Texts of several lines, and anchors.
        "metadata:\n  name: |\n    a\n",
        "metadata:\n  name: a\n    b\n",
        "metadata:\n  name: &a b\n",
        "metadata:\n  labels:\n    a: |\n      b\n",
        // Braces, and blanks that the encoder does not write.
        "metadata: {name: a}\n",
        "metadata:\n  labels: {a: }\n",
        "metadata:\n  labels: {a: b # c\n    }\n",
        "metadata:\n  name:  a\n",
        "metadata:\n  name: a  # b\n",
        "metadata:\n  labels:\n    a:\n",
        // Other line breaks.
        "metadata:\n  name: a\rspec: 1\n",
        "metadata:\n  labels:\n    a: b\u{85}spec: 1\n",
        "metadata:\n  labels:\n    a: b\u{2028}spec: 1\n",
        "metadata:\n  name: a\u{2029}spec: 1\n",
    ] {
        assert_eq!(patched(text), None, "{text}");
    }
}

#[test]
fn shapes_of_all_kinds_are_patched_as_they_are_merged() {
    let names = ["a", "'a'", "\"a\"", "1", "a # c"];
    let labels = [
        "  labels: {a: b}\n",
        "  labels: {a: {b: c}, d: [e]}\n",
        "",
        "  labels:\n    a: b\n",
        "  labels:\n    a: b # c\n",
        "  labels:\n      a: {}\n",
    ];
    let specs = [
        "",
        "spec: {}\n",
        "spec:\n  image: b\n",
        "spec:\n  image: b\n  list:\n  - a\n  - b: c\n",
        "spec:\n  image: b\n  list:\n    - a\n    - b: c\n",
        "spec:\n    image: b\n    list: [a, b]\n",
        "spec:\n- a\n- b: c\n",
    ];
    let mut count = 0;
    for name in names {
        for label in labels {
            for spec in specs {
                for gap in ["", "\n", "\n\n"] {
                    let text =
                        format!("kind: A\nmetadata:\n  name: {name}\n{label}{gap}{spec}{gap}");
                    count += usize::from(patched(&text).is_some());
                }
            }
        }
    }
    assert_eq!(count, 3 * names.len() * labels.len() * specs.len());
}
