//! Changes of a Kptfile, and what they leave alone.

use super::{
    MetadataMap, Others, set_conditions, set_metadata, set_name, set_readiness_gates, set_upstream,
    set_upstream_lock,
};
use crate::EditableText;
use crate::kptfile::{Condition, Git, GitLock, Locator, Upstream};
use kiln_yaml::Document;

const KPTFILE: &str = "\
# about this
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: old # its name
  labels:
    a: one # why
    b: two
info:
  readinessGates:
  - conditionType: x # must be
  - conditionType: y
status:
  conditions:
  - type: x
    status: \"True\" # so it is
  - type: z
    status: \"False\"
future: [1,   2]
";

#[track_caller]
fn check(change: impl Fn(&mut Document), old: &str, new: &str) {
    let changed = |text: &str| {
        let mut kptfile = EditableText::read_kptfile(text.as_bytes()).expect("it can be read");
        change(kptfile.document_mut());
        let bytes = kptfile.changed();
        bytes.map(|bytes| String::from_utf8(bytes).expect("it is text"))
    };
    let expected = KPTFILE.replacen(old, new, 1);
    let found = changed(KPTFILE);
    assert_eq!(found.as_deref().unwrap_or(KPTFILE), expected);
    assert_eq!(
        changed(&expected),
        None,
        "a second time there is nothing to do"
    );
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}

fn condition(kind: &str, status: &str) -> Condition {
    Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        ..Condition::default()
    }
}

#[test]
fn a_name_keeps_its_comment() {
    check(|doc| set_name(doc, "new"), "name: old #", "name: new #");
    check(|doc| set_name(doc, "old"), "", "");
}

#[test]
fn labels_are_added_and_replaced() {
    let labels = |wanted: &'static [(&str, &str)], others| {
        move |doc: &mut Document| set_metadata(doc, MetadataMap::Labels, &pairs(wanted), others)
    };
    check(labels(&[("a", "one")], Others::Keep), "", "");
    check(
        labels(&[("a", "true")], Others::Keep),
        "a: one #",
        "a: \"true\" #",
    );
    check(
        labels(&[("1", "x")], Others::Keep),
        "b: two\n",
        "b: two\n    \"1\": x\n",
    );
    check(labels(&[("a", "one")], Others::Remove), "    b: two\n", "");
    check(
        labels(&[], Others::Remove),
        "  labels:\n    a: one # why\n    b: two\n",
        "",
    );
    let annotations = |doc: &mut Document| {
        set_metadata(
            doc,
            MetadataMap::Annotations,
            &pairs(&[("k", "v")]),
            Others::Remove,
        );
    };
    check(
        annotations,
        "    b: two\n",
        "    b: two\n  annotations:\n    k: v\n",
    );
}

#[test]
fn gates_are_made_equal_in_the_order_of_the_request() {
    let gates = |wanted: &'static [&str]| {
        move |doc: &mut Document| {
            let wanted: Vec<String> = wanted.iter().map(|gate| (*gate).to_owned()).collect();
            set_readiness_gates(doc, &wanted);
        }
    };
    check(gates(&["y", "x"]), "", "");
    check(
        gates(&["q", "x", "p"]),
        "  - conditionType: y\n",
        "  - conditionType: q\n  - conditionType: p\n",
    );
    check(
        gates(&[]),
        "info:\n  readinessGates:\n  - conditionType: x # must be\n  - conditionType: y\n",
        "",
    );
}

#[test]
fn conditions_are_known_by_their_types() {
    let to = |wanted: Vec<Condition>| move |doc: &mut Document| set_conditions(doc, &wanted);
    check(
        to(vec![condition("z", "False"), condition("x", "True")]),
        "",
        "",
    );
    check(
        to(vec![condition("x", "True"), condition("new", "Unknown")]),
        "  - type: z\n    status: \"False\"\n",
        "  - type: new\n    status: Unknown\n",
    );
    check(
        to(vec![condition("x", "False"), condition("z", "False")]),
        "status: \"True\" #",
        "status: \"False\" #",
    );
    check(
        to(Vec::new()),
        "status:\n  conditions:\n  - type: x\n    status: \"True\" # so it is\n  - type: z\n    status: \"False\"\n",
        "",
    );
}

#[test]
fn upstream_and_lock_come_behind_the_metadata() {
    let upstream = Upstream {
        kind: "git".to_owned(),
        git: Some(Git {
            repo: "r".to_owned(),
            directory: "d".to_owned(),
            git_ref: "main".to_owned(),
        }),
        update_strategy: String::new(),
    };
    let lock = Locator {
        kind: "git".to_owned(),
        git: Some(GitLock {
            repo: "r".to_owned(),
            directory: "d".to_owned(),
            git_ref: "main".to_owned(),
            commit: "0".repeat(40),
        }),
        generic: None,
    };
    let change = |doc: &mut Document| {
        set_upstream_lock(doc, Some(&lock));
        set_upstream(doc, Some(&upstream));
        set_upstream_lock(doc, Some(&lock));
    };
    check(
        change,
        "info:\n",
        "upstream:\n  type: git\n  git:\n    repo: r\n    directory: d\n    ref: main\nupstreamLock:\n  type: git\n  git:\n    repo: r\n    directory: d\n    ref: main\n    commit: \"0000000000000000000000000000000000000000\"\ninfo:\n",
    );
}
