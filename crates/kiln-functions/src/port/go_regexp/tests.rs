//! Expressions that Go and the engine parse differently, and Go's errors.

use super::compile;

#[track_caller]
fn check(expression: &str, text: &str, found: Option<&str>) {
    let regex = compile(expression).unwrap();
    let actual = regex.find(text).map(|found| found.as_str());
    assert_eq!(actual, found, "{expression} in {text:?}");
}

#[test]
fn classes_are_ascii() {
    check(r"\d+", "٣4", Some("4"));
    check(r"\w+", "éa", Some("a"));
    check(r"\bé", "é", None);
    check(r"[^\d]", "٣", Some("٣"));
    check(r"\s", "\u{b}\u{a0}\u{c}", Some("\u{c}"));
    check(r"\pL+", "éa1", Some("éa"));
    check(r"\P{^Lu}", "aB", Some("B"));
    check(r"\w{1,63}$", "abc", Some("abc"));
    check(r"\p{Cs}|\P{Cs}", "a", Some("a"));
    check(r"a\Bb", "ab", Some("ab"));
}

#[test]
fn brackets_have_no_operators() {
    check("[a&&b]+", "c&ab", Some("&ab"));
    check("[[a]", "[", Some("["));
    check("[+--c]+", "b,-", Some(",-"));
    check("[]a]+", "a]", Some("a]"));
    check("[a-]+", "-a", Some("-a"));
    check("[[:alpha:]~~x]+", "1~a", Some("~a"));
}

#[test]
fn braces_may_be_braces() {
    check("a{", "a{", Some("a{"));
    check("a{,2}", "a{,2}", Some("a{,2}"));
    check("a{02}", "a{02}", Some("a{02}"));
    check("a{2}", "aaa", Some("aa"));
    check("a{2,}", "aaa", Some("aaa"));
    check("x{1}", "xx", Some("x"));
}

#[test]
fn groups_keep_their_numbers_and_flags_their_place() {
    let regex = compile("(?P<x>a)(?<x>b)(?:c)(d)").unwrap();
    assert_eq!(
        regex.captures("abcd").unwrap().get(3).unwrap().as_str(),
        "d"
    );
    check("a(?i)*b", "aaB", Some("aaB"));
    check("(?i:a)b", "Ab", Some("Ab"));
    check("(?U)a+", "aaa", Some("a"));
    check(r"\Qa.b\E+", "a.bb", Some("a.bb"));
    check("^*a", "a", Some("a"));
    check(r"\x41\x{42}\103", "ABC", Some("ABC"));
}

#[test]
fn complaints_are_those_of_go() {
    for (expression, message) in [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("(+?", "missing argument to repetition operator: `+?`"),
        ("a|*b", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}?b", "invalid nested repetition operator: `{2}{3}?`"),
        ("[a", "missing closing ]: `[a`"),
        ("x[]", "missing closing ]: `[]`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\xzz", r"invalid escape sequence: `\xzz`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{100}){11}", "invalid repeat count: `{11}`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?P<a", "invalid named capture: `(?P<a`"),
        ("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
    ] {
        let error = compile(expression).unwrap_err().to_string();
        assert_eq!(error, format!("error parsing regexp: {message}"));
    }
}

#[test]
fn depth_is_limited_and_costs_no_stack() {
    let deep = "(".repeat(100_000) + &")".repeat(100_000);
    assert!(compile(&deep).is_err());
    let fine = "(".repeat(900) + "a" + &")".repeat(900);
    check(&fine, "a", Some("a"));
}

/// A search keeps the positions of all groups for every state.
#[test]
fn groups_are_limited_by_the_memory_of_a_search() {
    let expression = "(a?)".repeat(20_000);
    let error = compile(&expression).unwrap_err().to_string();
    assert_eq!(
        error,
        "a regular expression of 80000 bytes needs too much memory: use fewer groups and repetitions, \
         or --no-native"
    );
    let expression = "(a?)".repeat(200);
    check(&expression, &"ab".repeat(100_000), Some("a"));
}
