//! Trees: the cases of kyaml, and what differs from them on purpose.

use kiln_yaml::{Document, SequenceStyle, to_string};
use serde_json::Value;

use crate::merge::schema::ListTypes;
use crate::merge::tree::{FieldConflict, Lists, Trees, merge_trees};

fn parse(text: &str) -> Document {
    let doc = kiln_yaml::parse(text).expect("YAML");
    doc.unwrap_or_else(Document::new_mapping)
}

fn merged(origin: &str, updated: &str, local: &str, lists: Lists) -> (String, Vec<FieldConflict>) {
    let (origin, updated, mut local) = (parse(origin), parse(updated), parse(local));
    let trees = Trees {
        local: &mut local,
        origin: Some(&origin),
        updated: &updated,
    };
    let conflicts = merge_trees(trees, &mut ListTypes::default(), lists);
    (to_string(&local, SequenceStyle::Compact), conflicts)
}

#[test]
fn cases_of_kyaml() {
    assert_eq!(compare(include_str!("kyaml.jsonl")), 72);
}

/// Random trees, merged by kpt.
#[test]
fn cases_of_kpt() {
    assert_eq!(compare(include_str!("kpt.jsonl")), 60);
}

#[track_caller]
fn compare(cases: &str) -> usize {
    let mut report = String::new();
    let mut count = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let lists = match case["infer"].as_bool() {
            Some(true) => Lists::Inferred,
            _ => Lists::BySchema,
        };
        let (ours, _) = merged(text("origin"), text("updated"), text("local"), lists);
        // If both sides have a line comment, kpt drops the local one.
        let is_kept = ours.contains("# conflicting value\nkind: StatefulSet # new value");
        if !is_kept && !is_alike(&ours, text("out")) {
            let (name, theirs) = (text("name"), text("out"));
            report += &format!("## {name}\n# theirs\n{theirs}# ours\n{ours}");
        }
        count += 1;
    }
    assert!(report.is_empty(), "{report}");
    count
}

/// Whether two texts have the same values and comments. The order of new fields may differ.
fn is_alike(one: &str, other: &str) -> bool {
    let comments = |text: &str| {
        let mut comments: Vec<String> = text
            .lines()
            .filter_map(|line| Some(line.split_once('#')?.1.to_owned()))
            .collect();
        comments.sort();
        comments
    };
    parse(one).root().value_eq(parse(other).root()) && comments(one) == comments(other)
}

#[track_caller]
fn check(origin: &str, updated: &str, local: &str, expected: &str, conflicts: &[&str]) {
    let (ours, found) = merged(origin, updated, local, Lists::BySchema);
    assert_eq!(ours, expected);
    let found: Vec<String> = found
        .iter()
        .map(|conflict| format!("{} {}", conflict.field, conflict.taken.as_str()))
        .collect();
    assert_eq!(found, conflicts);
}

#[test]
fn upstream_wins_and_the_conflict_is_recorded() {
    check("a: 1\n", "a: 2\n", "a: 3\n", "a: 2\n", &["a upstream"]);
    check("a: 1\n", "a: 2\n", "a: 2\n", "a: 2\n", &[]);
    check("a: 1\n", "a: 1\n", "a: 3\n", "a: 3\n", &[]);
    check(
        "a: 1\nb: 1\n",
        "b: 1\n",
        "a: 3\nb: 1\n",
        "b: 1\n",
        &["a upstream"],
    );
    check(
        "a: 1\nb: 1\n",
        "a: 2\nb: 1\n",
        "b: 1\n",
        "b: 1\na: 2\n",
        &["a upstream"],
    );
    check("a: 1\n", "a: \"1\"\n", "a: 1\n", "a: \"1\"\n", &[]);
    let (_, found) = merged(
        "a: {b: 1}\n",
        "a: {b: 2}\n",
        "a: {b: x y}\n",
        Lists::BySchema,
    );
    let [conflict] = &found[..] else {
        panic!("one conflict, not {found:?}");
    };
    assert_eq!(conflict.field, "a.b");
    assert_eq!(conflict.origin.as_deref(), Some("1"));
    assert_eq!(conflict.local.as_deref(), Some("x y"));
    assert_eq!(conflict.upstream.as_deref(), Some("2"));
}

#[test]
fn a_conflict_is_reported_once() {
    // The conflict of the field replaces that of the removed mapping.
    check(
        "a: {b: {c: 1, d: 1}}\nz: 1\n",
        "a: {b: {c: 2, d: 1}}\nz: 1\n",
        "z: 1\n",
        "z: 1\na:\n  b:\n    c: 2\n",
        &["a.b.c upstream"],
    );
    // New fields in it have no conflict.
    check(
        "a: {b: 1}\nz: 1\n",
        "a: {b: 1, c: 1}\nz: 1\n",
        "z: 1\n",
        "z: 1\na:\n  c: 1\n",
        &["a upstream"],
    );
    let pod = |containers: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: main\n    image: m\n{containers}"
        )
    };
    check(
        &pod("  - name: side\n    image: s:1\n"),
        &pod("  - name: side\n    image: s:2\n"),
        &pod(""),
        &pod("  - name: side\n    image: s:2\n"),
        &["spec.containers[name=side].image upstream"],
    );
    check(
        &pod("  - name: side\n"),
        &pod("  - name: side\n    image: s:2\n"),
        &pod(""),
        &pod("  - name: side\n    image: s:2\n"),
        &["spec.containers[name=side] upstream"],
    );
}

#[test]
fn values_of_different_kinds_are_replaced_as_a_whole() {
    check("a: 1\n", "a: {b: 1}\n", "a: 1\n", "a: {b: 1}\n", &[]);
    check(
        "a: 1\n",
        "a: [1]\n",
        "a: {c: 2}\n",
        "a: [1]\n",
        &["a upstream"],
    );
    check("a: 1\n", "a: 1\n", "a: {c: 2}\n", "a: {c: 2}\n", &[]);
}

#[test]
fn nulls() {
    // A null upstream removes the field. A local null wins over a change, and stays without one.
    check(
        "a: 1\nb: 1\n",
        "a: null\nb: 1\n",
        "a: 1\nb: 2\n",
        "b: 2\n",
        &[],
    );
    check(
        "a: 1\nb: 1\n",
        "a: 2\nb: 1\n",
        "a: null\nb: 2\n",
        "b: 2\n",
        &["a local"],
    );
    check(
        "a: 1\nb: 1\n",
        "a: 1\nb: 2\n",
        "a: null\nb: 1\n",
        "a: null\nb: 2\n",
        &[],
    );
    check("a: null\n", "a: 2\n", "a: null\n", "a: 2\n", &[]);
    check(
        "a: null\nb: 1\n",
        "a: null\nb: 2\n",
        "a: null\nb: 1\n",
        "a: null\nb: 2\n",
        &[],
    );
    check("a: ~\n", "a: ~\n", "a: 3\n", "a: 3\n", &[]);
}

/// As with kpt, a null for a list that is merged by items counts as a missing list.
#[test]
fn nulls_for_lists() {
    let pod = |rest: &str| format!("apiVersion: v1\nkind: Pod\n{rest}");
    let with = |containers: &str| pod(&format!("spec:\n  containers:{containers}\n"));
    let two = "\n  - name: a\n    image: i\n  - name: b";
    check(
        &with(two),
        &with("\n  - name: a\n    image: j\n  - name: b"),
        &with(" null"),
        &with("\n  - name: a\n    image: j"),
        &["spec.containers[name=a].image upstream"],
    );
    check(&with(two), &with(two), &with(" null"), &with(" null"), &[]);
    check(&pod(""), &with(two), &with(" null"), &with(two), &[]);
    // Other lists are removed, even if the upstream has changed them.
    check(
        "a: [1]\nb: 1\n",
        "a: [1, 2]\nb: 1\n",
        "a: null\nb: 1\n",
        "b: 1\n",
        &["a local"],
    );
}

#[test]
fn no_empty_mappings_remain() {
    check(
        "a: {b: 1}\nc: 1\n",
        "c: 2\n",
        "a: {b: 1}\nc: 1\n",
        "c: 2\n",
        &[],
    );
    check(
        "a: {b: 1}\nc: 1\n",
        "c: 2\n",
        "a: {b: 5}\nc: 1\n",
        "c: 2\n",
        &["a.b upstream"],
    );
    check(
        "a: {b: 1}\nc: 1\n",
        "a: {b: 1}\nc: 2\n",
        "c: 1\n",
        "c: 2\n",
        &[],
    );
    check("a: {b: 1}\n", "c: 2\n", "a: {}\n", "a: {}\nc: 2\n", &[]);
}

#[test]
fn keyed_lists_that_cannot_be_paired_are_whole() {
    let pod =
        |containers: &str| format!("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n{containers}");
    // The same name twice.
    check(
        &pod("  - name: a\n"),
        &pod("  - name: a\n    image: i\n"),
        &pod("  - name: a\n    tty: true\n  - name: a\n"),
        &pod("  - name: a\n    image: i\n"),
        &["spec.containers upstream"],
    );
    check(
        &pod("  - name: a\n"),
        &pod("  - name: a\n    image: i\n"),
        &pod("  - name: a\n    tty: true\n  - name: b\n"),
        &pod("  - name: a\n    tty: true\n    image: i\n  - name: b\n"),
        &[],
    );
}

/// A port without a protocol matches the upstream port without one, not the first with the same number.
#[test]
fn items_that_lack_a_key_are_taken_last() {
    let service = |ports: &str| format!("apiVersion: v1\nkind: Service\nspec:\n  ports:\n{ports}");
    check(
        &service("  - port: 53\n    name: dns\n"),
        &service(
            "  - port: 53\n    protocol: UDP\n    name: fast\n  - port: 53\n    name: names\n",
        ),
        &service("  - port: 53\n    name: dns\n    nodePort: 7\n"),
        &service(
            "  - port: 53\n    name: names\n    nodePort: 7\n  - port: 53\n    protocol: UDP\n    name: fast\n",
        ),
        &[],
    );
    // Without a better match, the one with the same number.
    check(
        &service("  - port: 53\n    name: dns\n"),
        &service("  - port: 53\n    protocol: TCP\n    name: names\n"),
        &service("  - port: 53\n    name: dns\n    nodePort: 7\n"),
        &service("  - port: 53\n    name: names\n    nodePort: 7\n    protocol: TCP\n"),
        &[],
    );
}

#[test]
fn comments_stay() {
    let origin = "# top\na: 1 # one\nb: 2\n";
    check(
        origin,
        "# top\na: 5 # one\nb: 2 # two\n",
        "# mine\na: 1 # own\nb: 3\n",
        "# mine\n# own\na: 5 # one\nb: 3 # two\n",
        &[],
    );
    check(
        "l:\n- a\n- b\n",
        "l:\n- b\n- c\n",
        "l: # why\n- a\n- b # because\n",
        "l: # why\n- b # because\n- c\n",
        &[],
    );
}

#[test]
fn deep_trees_are_merged() {
    let deep = |leaf: &str| format!("{}{leaf}{}", "{a: ".repeat(5000), "}".repeat(5000));
    let (ours, found) = merged(&deep("1"), &deep("2"), &deep("3"), Lists::Inferred);
    assert!(ours.contains("{a: 2}"));
    assert_eq!(found.len(), 1);
}
