//! What the engine does otherwise than Go and OPA: regular expressions, large numbers, missing functions, long lines.

use super::bounds::{RULE, evaluates, fails, items, text};
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

#[test]
fn numbers_beyond_binary64_are_refused() {
    for expression in [
        "1e308 * 10",
        "1e308 + 1e308",
        "sum([1e308, 1e308])",
        "units.parse(\"1e400\")",
        "json.marshal([1e308 + 1e308])",
        "1e308 / 1e-10",
    ] {
        let rules =
            format!("violation[{{\"msg\": msg}}] {{ msg := sprintf(\"%v\", [{expression}]) }}");
        fails(
            &items(&rules),
            "a number of a policy is too large: it exceeds 1.8e308, which is not supported natively; use --no-native",
        );
    }
    let rules =
        "violation[{\"msg\": msg}] { 1e308 + 1e308 > 1e308\n msg := sprintf(\"%v\", [1e308]) }";
    fails(&items(rules), " : 1e+308\n");
}

#[test]
fn functions_of_opa_that_the_engine_lacks_are_unsupported() {
    for call in [
        "crypto.sha256(\"a\")",
        "urlquery.encode(\"a\")",
        "net.cidr_intersects(\"10.0.0.0/8\", \"10.0.0.0/9\")",
        "json.patch({}, [])",
        "time.now_ns()",
    ] {
        let name = call.split('(').next().unwrap();
        let rules = format!("{RULE}f(x) {{ {call} }}");
        fails(
            &items(&rules),
            &format!("the policy calls {name}, which is not supported natively; use --no-native\n"),
        );
    }
}

#[test]
fn lines_may_be_long() {
    let registries: Vec<String> = (0..200)
        .map(|at| format!("\"registry-{at}.example.com/\""))
        .collect();
    let rules = format!(
        "# {}\nviolation[{{\"msg\": msg}}] {{ all := [{}]; msg := sprintf(\"%v\", [count(all)]) }}",
        "-".repeat(2000),
        registries.join(", ")
    );
    fails(&items(&rules), "[error] v1/Thing/ns1/o : 200\n");
}
