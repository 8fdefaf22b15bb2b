//! What the engine does otherwise than Go and OPA: regular expressions.

use super::bounds::{evaluates, fails, items, text};
use super::run;

#[test]
fn regular_expressions_have_the_syntax_of_go() {
    for (pattern, text, expect) in [
        (r"^\w+$", "é", "false"),
        (r"^\d+$", "٣", "false"),
        (r"^\w{1,63}$", "abc", "true"),
        (r"^[\w.-]{1,253}$", "abc", "true"),
        (r"\Qa.b\E", "a.b", "true"),
        ("a{,2}", "a{,2}", "true"),
        ("[a&&b]", "a", "true"),
        (r"x{1001}|a", "a", "undefined"),
        ("[a--b]", "a", "undefined"),
    ] {
        for function in ["regex.match", "re_match"] {
            let call = format!("{function}(`{pattern}`, \"{text}\")");
            let rules = format!(
                "violation[{{\"msg\": msg}}] {{ msg := sprintf(\"%v\", [r]) }}\nr = x {{ x := {call} }} else = \"undefined\""
            );
            let expect = format!("[error] v1/Thing/ns1/o : {expect}\nviolatedConstraint: c1\n");
            assert_eq!(run(&items(&rules)).stderr, expect, "{call}");
        }
        let is_valid = expect != "undefined";
        let rules = format!(
            "violation[{{\"msg\": msg}}] {{ msg := sprintf(\"%v\", [regex.is_valid(`{pattern}`)]) }}"
        );
        fails(&items(&rules), &format!(" : {is_valid}\n"));
    }
}

#[test]
fn regular_expressions_with_many_groups_are_refused() {
    let pattern = text("(a?)", 20_000);
    for expression in [
        format!("regex.find_n({pattern}, \"b\", 1)"),
        format!("regex.replace(\"b\", {pattern}, \"x\")"),
        format!("regex.find_all_string_submatch_n({pattern}, \"b\", -1)"),
        format!("[regex.match({pattern}, \"b\")]"),
    ] {
        fails(
            &evaluates(&expression),
            "a regular expression of 80000 bytes needs too much memory, which is not supported natively; use --no-native",
        );
    }
}
