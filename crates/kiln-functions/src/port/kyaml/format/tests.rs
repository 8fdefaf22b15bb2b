//! Order, lists, and quotes by type and release.

use kiln_yaml::{SequenceStyle, parse, to_string};

use super::{KyamlRelease, format};

#[track_caller]
fn check(release: Option<KyamlRelease>, before: &str, after: &str) {
    let mut document = parse(before).unwrap().unwrap();
    let is_changed = format(&mut document, release).unwrap();
    let written = to_string(&document, SequenceStyle::Compact);
    assert_eq!(written, after);
    assert_eq!(is_changed, before != after);
    assert!(!format(&mut document, release).unwrap(), "twice");
}

#[test]
fn known_fields_come_first_and_comments_go_with_them() {
    check(
        None,
        "\
z: 1
# about data
data:
  b: on # line
  a: 2
metadata:
  labels: {b: x, a: y}
  name: n
kind: K
apiVersion: example.com/v1
",
        "\
apiVersion: example.com/v1
kind: K
metadata:
  name: n
  labels: {a: y, b: x}
# about data
data:
  a: 2
  b: on # line
z: 1
",
    );
}

#[test]
fn quotes_follow_the_types_and_nulls_the_generation() {
    let job = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: on
  labels:
    a: 'x'
    b: null
spec:
  backoffLimit: '3'
  suspend: 'true'
";
    let newer = job
        .replace("name: on", "name: \"on\"")
        .replace("'3'", "3")
        .replace("'true'", "true");
    check(Some(KyamlRelease::V0_13), job, &newer);
    // Fields that v1.20 lacks keep their quotes, and a null is read as a string.
    let older = newer
        .replace("null", "\"null\"")
        .replace("suspend: true", "suspend: 'true'");
    check(Some(KyamlRelease::V0_10), job, &older);
    check(None, job, job);
}

#[test]
fn resources_that_came_later_have_no_types_before() {
    let job = "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: 1\n";
    check(Some(KyamlRelease::V0_10), job, job);
    check(
        Some(KyamlRelease::V0_13),
        job,
        &job.replace('1', "\"1\"").replace("v\"1\"", "v1"),
    );
    let volume = "\
apiVersion: v1
kind: Pod
spec:
  volumes:
  - ephemeral:
      readOnly: 'true'
";
    check(Some(KyamlRelease::V0_13), volume, volume);
    check(Some(KyamlRelease::V0_10), volume, &volume.replace('\'', ""));
}

#[test]
fn containers_are_sorted_by_name_only_where_it_is_safe() {
    let of = |kind: &str, names: [&str; 3]| {
        let [a, b, c] = names;
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nspec:\n  template:\n    spec:\n      containers:\n      - name: {a}\n      \
             - name: {b}\n      - name: {c}\n"
        )
    };
    let names = ["c", "a", "b"];
    check(
        None,
        &of("Deployment", names),
        &of("Deployment", ["a", "b", "c"]),
    );
    check(None, &of("Other", names), &of("Other", names));
}

#[test]
fn an_annotation_says_whether() {
    let with = |strategy: &str| {
        let text = format!(
            "kind: K\napiVersion: v1\nmetadata:\n  annotations:\n    config.kubernetes.io/formatting: {strategy}\n"
        );
        let mut document = parse(&text).unwrap().unwrap();
        format(&mut document, None).map_err(|error| error.to_string())
    };
    assert_eq!(with("standard"), Ok(true));
    assert_eq!(with("none"), Ok(false));
    assert_eq!(
        with("some"),
        Err("formatting annotation has illegal value some".to_owned())
    );
}
