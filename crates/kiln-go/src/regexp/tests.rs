//! The results are Go's.

use super::{GoRegexp, ReplacementPart, SplitRanges, replacement_parts};

#[test]
fn groups_have_numbers_and_may_share_a_name() {
    let expression = GoRegexp::parse("(a)(?:b)(?P<x>c)(?i:d)(?<x>e)").unwrap();
    let numbered: Vec<usize> = expression.groups_named("x").collect();
    assert_eq!(numbered, [2, 3]);
    assert_eq!(expression.groups_named("y").count(), 0);
    // A whole match and three groups, each with a start and an end.
    assert_eq!(expression.search_bytes(32), 8 * 16);
    assert_eq!(expression.max_size(8 * 16 * 10), 320);
}

#[test]
fn classes_have_the_names_of_go() {
    for known in [r"\pL", r"\p{Greek}", r"\p{^Lu}", r"\P{Nd}", r"\p{Any}"] {
        assert!(GoRegexp::parse(known).is_ok(), "{known}");
    }
    for unknown in [r"\p{Alphabetic}", r"\p{greek}", r"\p{Letter}"] {
        assert!(GoRegexp::parse(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn replacements_are_read_as_by_expand() {
    use ReplacementPart::{Name, Number, Text};
    let parts = |template: &'static str| -> Vec<ReplacementPart<'static>> {
        replacement_parts(template.as_bytes()).collect()
    };
    let text = |text: &'static str| Text(text.as_bytes());
    assert_eq!(parts("a$1b"), [text("a"), Name("1b")]);
    assert_eq!(parts("${1}b"), [Number(1), text("b")]);
    assert_eq!(parts("$0-$01"), [Number(0), text("-"), Name("01")]);
    assert_eq!(parts("$$1"), [text("$"), text("1")]);
    assert_eq!(parts("$é|"), [Name("é"), text("|")]);
    assert_eq!(
        parts("$-${x-$"),
        [text("$"), text("-"), text("$"), text("{x-"), text("$")]
    );
}

#[test]
fn texts_are_divided_as_by_split() {
    type Matches = &'static [(usize, usize)];
    let check = |expression: &str, length, limit, matches: Matches, expect: Matches| {
        let matches = matches.iter().map(|(start, end)| *start..*end);
        let ranges = SplitRanges::new(expression, length, limit, matches);
        let ranges: Vec<(usize, usize)> = ranges.map(|range| (range.start, range.end)).collect();
        assert_eq!(ranges, expect, "{expression}");
    };
    let every: Matches = &[(0, 0), (1, 1), (2, 2), (3, 3)];
    check("", 3, None, every, &[(0, 1), (1, 2), (2, 3)]);
    check("", 0, None, &[(0, 0)], &[]);
    check("a", 0, None, &[], &[(0, 0)]);
    check("a", 1, None, &[(0, 1)], &[(0, 0), (1, 1)]);
    check("^", 2, None, &[(0, 0)], &[(0, 2)]);
    check("$", 2, None, &[(2, 2)], &[(0, 2)]);
    check(",", 5, Some(2), &[(1, 2), (3, 4)], &[(0, 1), (2, 5)]);
    check(",", 5, Some(1), &[(1, 2), (3, 4)], &[(0, 5)]);
}
