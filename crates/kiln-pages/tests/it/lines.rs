//! Lines of fields.

use kiln_pages::report::FileLines;

const TEXT: &[u8] = b"# licence

a: 1
---
spec:
  containers:
  - name: x
    image: y
  labels:
    app.kubernetes.io/name: web
";

#[track_caller]
fn check(index: usize, field: &str, line: Option<usize>) {
    assert_eq!(FileLines::of(TEXT).line(index, field), line, "{field}");
}

#[test]
fn fields_have_lines() {
    check(0, "a", Some(3));
    check(1, "spec", Some(5));
    check(1, ".spec.containers[0].image", Some(8));
    check(1, "spec.containers.0.name", Some(7));
    check(1, "spec.labels[\"app.kubernetes.io/name\"]", Some(10));
}

#[test]
fn a_missing_field_has_the_line_of_its_parent() {
    check(1, "spec.containers[0].resources.limits", Some(7));
    check(1, "status", Some(5));
    check(1, "", Some(5));
}

#[test]
fn documents_that_do_not_exist_have_no_line() {
    check(2, "spec", None);
    assert_eq!(FileLines::of(b"").line(0, "a"), None);
    assert_eq!(FileLines::of(b"\xff\xfe").line(0, "a[[[.."), None);
}
