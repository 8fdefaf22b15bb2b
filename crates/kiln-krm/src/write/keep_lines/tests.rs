//! Merging texts by lines. Whether a proposal is right YAML is for others to say; here everything is accepted.

use super::align::align;
use super::keep_lines;

#[track_caller]
fn check(original: &str, old: &str, new: &str, expect: &str) {
    let merged = keep_lines(original, old, new, "\n", |_| true);
    assert_eq!(merged.as_deref(), Some(expect));
}

#[test]
fn what_did_not_change_keeps_its_bytes() {
    check(
        "a:   1\n\n\nb: 2 # c\n",
        "a: 1\nb: 2 # c\n",
        "a: 1\nb: 3 # c\n",
        "a:   1\n\n\nb: 3 # c\n",
    );
}

#[test]
fn new_lines_go_before_blank_ones() {
    check(
        "a:\n  x: 1\n\nb: 2\n",
        "a:\n  x: 1\nb: 2\n",
        "a:\n  x: 1\n  y: 2\nb: 2\n",
        "a:\n  x: 1\n  y: 2\n\nb: 2\n",
    );
}

#[test]
fn new_lines_are_indented_as_their_siblings() {
    check(
        "a:\n    x: 1\n    z: 1\n",
        "a:\n  x: 1\n  z: 1\n",
        "a:\n  x: 1\n  y:\n    v: 2\n  z: 1\n",
        "a:\n    x: 1\n    y:\n      v: 2\n    z: 1\n",
    );
    check(
        "a:\n  -   x: 1\n      y: 1\nb: 1\n",
        "a:\n- x: 1\n  y: 1\nb: 1\n",
        "a:\n- x: 1\n  y: 1\n  z: 1\n- x: 2\nb: 1\nc: 1\n",
        "a:\n  -   x: 1\n      y: 1\n      z: 1\n  - x: 2\nb: 1\nc: 1\n",
    );
}

#[test]
fn new_comments_are_indented_as_what_they_are_about() {
    check(
        "a:\n  # one\n  - x: 1\n\n  # two\n  - x: 2\nb: 1\n",
        "a:\n# one\n- x: 1\n# two\n- x: 2\nb: 1\n",
        "a:\n# two\n- x: 2\n# one\n- x: 1\nb: 1\n",
        "a:\n  # two\n  - x: 2\n  # one\n  - x: 1\nb: 1\n",
    );
    check(
        "a:\n  # one\n  - x: 1\n\n  # two\n  - x: 2\n\n  # three\n  - x: 3\nb: 1\n",
        "a:\n# one\n- x: 1\n# two\n- x: 2\n# three\n- x: 3\nb: 1\n",
        "a:\n# three\n- x: 3\n# two\n- x: 2\n# one\n- x: 1\nb: 1\n",
        "a:\n  # three\n  - x: 3\n  # two\n  - x: 2\n  # one\n  - x: 1\nb: 1\n",
    );
    // A comment behind the last item.
    check(
        "a:\n    - x: 1\n    - x: 2\nb: 1\n",
        "a:\n- x: 1\n- x: 2\nb: 1\n",
        "a:\n- x: 1\n# new\n- x: 2\n# foot\n\nb: 1\n",
        "a:\n    - x: 1\n    # new\n    - x: 2\n    # foot\n\nb: 1\n",
    );
    check(
        "a:\n    x: 1\nb: 1\n",
        "a:\n  x: 1\nb: 1\n",
        "a:\n  # new\n  x: 1\n# top\nb: 1\n",
        "a:\n    # new\n    x: 1\n# top\nb: 1\n",
    );
}

#[test]
fn where_both_differ_what_is_new_wins() {
    check(
        "a: {x: 1,\n  y: 2}\nb:  1\n",
        "a: {x: 1, y: 2}\nb: 1\n",
        "a: {x: 1, y: 3}\nb: 1\n",
        "a: {x: 1, y: 3}\nb:  1\n",
    );
}

#[test]
fn a_line_beside_a_change_stays() {
    check(
        "a: {x: 1,\n  y: 2}",
        "a: {x: 1, y: 2}\n",
        "a: {x: 1, y: 2}\nb: 1\n",
        "a: {x: 1,\n  y: 2}\nb: 1\n",
    );
}

#[test]
fn blank_lines_stay_unless_that_is_refused() {
    let (text, new) = ("# c\n\na: 1\nb: 1\n", "# c\na: 1\nb: 2\n");
    check(text, text, new, "# c\n\na: 1\nb: 2\n");
    let merged = keep_lines(text, text, new, "\n", |proposal| !proposal.contains("\n\n"));
    assert_eq!(merged.as_deref(), Some(new));
    assert_eq!(keep_lines(text, text, new, "\n", |_| false), None);
}

#[test]
fn a_block_goes_with_its_blank_line() {
    check(
        "a: 1\n\nb: 2\n\nc: 3\n",
        "a: 1\nb: 2\nc: 3\n",
        "a: 1\nc: 3\n",
        "a: 1\n\nc: 3\n",
    );
    check(
        "a: 1\nb: 2\n\nc: 3\n",
        "a: 1\nb: 2\nc: 3\n",
        "a: 1\nc: 3\n",
        "a: 1\n\nc: 3\n",
    );
    check(
        "a:\n  - 1\n\n  - 2\n",
        "a:\n- 1\n- 2\n",
        "a:\n- 2\n",
        "a:\n  - 2\n",
    );
}

#[test]
fn line_breaks_are_those_of_the_text() {
    let merged = keep_lines(
        "a: 1\r\n\r\nb: 1\r\n",
        "a: 1\nb: 1\n",
        "a: 1\nb: 2\n",
        "\r\n",
        |_| true,
    );
    assert_eq!(merged.as_deref(), Some("a: 1\r\n\r\nb: 2\r\n"));
}

#[test]
fn lines_are_found_again_between_those_that_are_there_once() {
    let align = |one: &str, other: &str| {
        let [one, other] =
            [one, other].map(|text| text.split_inclusive(|_| true).collect::<Vec<_>>());
        align(&one, &other)
    };
    assert_eq!(align("abc", "abc"), [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(align("", "abc"), []);
    assert_eq!(align("xaya", "axay"), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(align("aabaa", "aaaa").len(), 4);
    // Without a line that is there once, few pairs are tried all.
    assert_eq!(align("xaabbx", "yaabby").len(), 4);
}
