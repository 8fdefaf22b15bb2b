//! The text of annotations, and which resources stay unchanged.

use super::annotation::annotation_text;
use super::substitution::{MutationReference, Substitution};
use crate::function::{Context, NoFiles};
use crate::registry::Registry;
use crate::wire;
use kiln_runtime::RunContext;

fn annotate(items: &str) -> String {
    let version = Registry::builtin().find_image("annotate-apply-time-mutations");
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let input = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let answer = wire::run(version.unwrap(), input.as_bytes(), &ctx).unwrap();
    assert_eq!(answer.exit_code, 0, "{}", answer.stderr);
    let (items, _) = answer
        .stdout
        .split_once("results:")
        .unwrap_or((&answer.stdout, ""));
    let (_, items) = items.split_once("items:\n").unwrap();
    items.to_owned()
}

fn token_text(token: &str) -> String {
    let text = annotation_text(&[Substitution {
        source: MutationReference::default(),
        token: token.to_owned(),
        ..Substitution::default()
    }]);
    let (_, token) = text.split_once("  token: ").unwrap();
    token.trim_end().to_owned()
}

const ITEM: &str = "\
- apiVersion: v1 # of the type
  kind: K
  metadata:
    name: k
    annotations:
      config.kubernetes.io/index: '0'
  # head
  spec:
    a: [x, 'y']
    b: 5 # apply-time-mutation: ${g/namespaces/ns/K/n:$.a}
";

#[test]
fn strings_are_quoted_for_readers_of_yaml_1_1() {
    for (token, text) in [
        ("${a}", "${a}"),
        ("yes", r#""yes""#),
        ("12", r#""12""#),
        ("1:20", r#""1:20""#),
        ("1:60", "1:60"),
        ("2001-01-01", r#""2001-01-01""#),
        ("a: b", "'a: b'"),
        ("# c", "'# c'"),
        ("[x]", "'[x]'"),
        ("3 # c", "'3 # c'"),
        ("<<", r#""<<""#),
        ("a\tb", r#""a\tb""#),
        ("a\nb", "|-\n    a\n    b"),
    ] {
        assert_eq!(token_text(token), text, "{token}");
    }
}

#[test]
fn long_lines_break_at_spaces() {
    let long = "x".repeat(80);
    assert_eq!(
        token_text(&format!("{long} y z")),
        format!("{long}\n    y z")
    );
    let spaced = format!("'{long}  y' z");
    assert_eq!(
        token_text(&spaced),
        format!("'''{long}  y''\n    z'"),
        "two spaces are no place to break"
    );
}

#[test]
fn only_the_annotation_is_added() {
    let annotated = annotate(ITEM);
    let annotation = "      config.kubernetes.io/apply-time-mutation: |
        - sourcePath: $.a
          sourceRef:
            group: g
            kind: K
            name: \"n\"
            namespace: ns
          targetPath: $.spec.b
";
    assert!(annotated.contains(annotation), "{annotated}");
    let without = annotated.replace(annotation, "");
    assert_eq!(without, ITEM.replace("'0'", "\"0\""));
    assert_eq!(annotate(&annotated), annotated);
}

#[test]
fn what_says_nothing_stays_as_it_is() {
    let item = ITEM.replace("apply-time-mutation", "other");
    assert_eq!(annotate(&item), item);
}
