//! Policies that exceed limits: each ends with a clear error, and none ends the process.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use kiln_runtime::{CancelToken, Deadline, RunContext, RunError};

use super::{THING, constraint, run, run_in, template};

/// A list with a policy that has these rules and one resource to review.
pub(super) fn items(rules: &str) -> String {
    let rules = rules.replace('\n', "\n      ");
    [
        template(&format!("package foo\n      {rules}")).as_str(),
        &constraint("{match: {kinds: [{apiGroups: [''], kinds: [Thing]}]}}"),
        THING,
    ]
    .concat()
}

/// The same with a library.
fn with_lib(rules: &str, lib: &str) -> String {
    let lib = lib.replace('\n', "\n        ");
    items(rules).replace(
        "      rego: |",
        &format!("      libs:\n      - |\n        {lib}\n      rego: |"),
    )
}

#[track_caller]
pub(super) fn fails(items: &str, why: &str) {
    let answer = run(items);
    let shown: String = answer.stderr.chars().take(1000).collect();
    assert!(answer.stderr.contains(why), "{shown}");
    assert_eq!(answer.exit_code, 1);
}

/// A policy whose message `msg` is the value of `expression`.
pub(super) fn evaluates(expression: &str) -> String {
    items(&format!(
        "violation[{{\"msg\": msg}}] {{\n  value := {expression}\n  msg := sprintf(\"%v\", [count(value)])\n}}"
    ))
}

/// An expression for a repeated text.
pub(super) fn text(part: &str, times: usize) -> String {
    format!("concat(\"\", [x | numbers.range(1, {times})[_]\n    x := \"{part}\"])")
}

/// A list of 2,000 values that are built from a set of 10,000 members.
fn collected(value: &str) -> String {
    evaluates(&format!(
        "[y | all := {{x | x := numbers.range(1, 10000)[_]}}\n    x := numbers.range(1, 2000)[_]\n    y := {value}]"
    ))
}

pub(super) const RULE: &str = "violation[{\"msg\": \"m\"}] { f(1) }\n";

#[test]
fn recursion_is_refused_as_by_opa() {
    let prefix =
        "[error] : adding template \"foo\": unable to compile modules: unable to compile modules: ";
    let at = "__modset_templates[\"admission.k8s.gatekeeper.sh\"][\"Foo\"]_idx_";
    let check = |items: &str, errors: &str| {
        let answer = run(items);
        let expect = format!("{prefix}{}\n", errors.replace("@", at));
        assert_eq!(answer.stderr, expect);
    };
    check(
        &items(&format!("{RULE}f(x) = y {{ y := f(x+1) }}")),
        "1 error occurred: @0:3: rego_recursion_error: rule f is recursive: f -> f",
    );
    check(
        &items(&format!(
            "{RULE}f(x) = y {{ y := g(x) }}\ng(x) = y {{ y := f(x) }}"
        )),
        "2 errors occurred:\n@0:3: rego_recursion_error: rule f is recursive: f -> g -> f\n@0:4: \
         rego_recursion_error: rule g is recursive: g -> f -> g",
    );
    check(
        &items(&format!(
            "{RULE}f(x) {{ a }}\na {{ b }}\nb = [c | true]\nc {{ not a }}"
        )),
        "3 errors occurred:\n@0:4: rego_recursion_error: rule a is recursive: a -> b -> c -> a\n@0:5: \
         rego_recursion_error: rule b is recursive: b -> c -> a -> b\n@0:6: rego_recursion_error: rule c is \
         recursive: c -> a -> b -> c",
    );
    // By full path, by import, by alias, and by a reference that only evaluation knows.
    let libs = [
        "g(x) = y { y := data.lib.l.g(x) }",
        "import data.lib.l\ng(x) = y { y := l.g(x) }",
        "import data.lib as other\ng(x) = y { y := other.l.g(x) }",
        "g(x) { r }\nr { some p\n data.lib[p].r }",
        "g(x) { r }\nr { count(data.lib) > 0 }",
        "g(x) { r }\nr { true } else { data.lib[\"l\"].r }",
    ];
    for lib in libs {
        let rules = "import data.lib.l\nviolation[{\"msg\": \"m\"}] { l.g(1) }";
        let answer = run(&with_lib(rules, &format!("package lib.l\n{lib}")));
        let names = ["rule g is recursive: g -> g", "rule r is recursive: r -> r"];
        let is_refused = names.iter().any(|name| answer.stderr.contains(name));
        assert!(is_refused, "{lib}: {}", answer.stderr);
    }
}

#[test]
fn names_of_rules_may_be_those_of_local_variables() {
    let rules = "violation[{\"msg\": msg}] { msg := name }\nname = y { y := f(\"n\") }\nf(x) = y { name := x\n y := name }";
    fails(&items(rules), "[error] v1/Thing/ns1/o : n\n");
}

#[test]
fn functions_that_do_not_exist_are_reported() {
    let rules = format!("{RULE}f(x) {{ false\n nosuch(x) }}");
    fails(
        &items(&rules),
        "rego_type_error: undefined function nosuch\n",
    );
    let rules = format!("{RULE}f(x) {{ count(x) with count as 3 }}");
    fails(
        &items(&rules),
        "with keyword target must start with input or data\n",
    );
}

#[test]
fn deep_policies_are_refused_before_they_are_parsed() {
    let lines = |first: &str, more: &str| {
        let line = format!("\n{}", more.repeat(100));
        format!("{first}{}", line.repeat(1000))
    };
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(300), close.repeat(300));
    for expression in [
        format!("{}1", "-".repeat(900)),
        lines("1", " + 1"),
        lines("{1}", " | {1}"),
        format!("a{}", ".a".repeat(450)),
        nested("[", "]"),
        nested("{\"a\":\n", "}"),
        nested("[x | x :=\n", "]"),
        nested("(", ")"),
        nested("f(", ")"),
        nested("a[", "]"),
        nested("{1 |\n", "}"),
    ] {
        let rules = format!("violation[{{\"msg\": \"m\"}}] {{\n  x := {expression}\n}}");
        fails(&items(&rules), "not supported natively; use --no-native");
    }
    let lines = format!(
        "violation[{{\"msg\": \"m\"}}] {{\n  x := 1{}\n}}",
        "\n+ 1".repeat(100_000)
    );
    fails(&items(&lines), "exceeds maximum allowed line count");
    let every = format!(
        "import future.keywords.every\nviolation[{{\"msg\": \"m\"}}] {{\n{}true{}\n}}",
        "every x in [1] {\n".repeat(300),
        "\n}".repeat(300)
    );
    fails(&items(&every), "not supported natively");
}

#[test]
fn long_chains_of_rules_are_refused_before_they_are_evaluated() {
    let rules = |count: usize| {
        let rule = |at: usize| format!("r{at} {{ r{} }}\n", at + 1);
        format!(
            "{}r{count} = true",
            (0..count).map(rule).collect::<String>()
        )
    };
    let functions = |count: usize| {
        let function = |at: usize| format!("f{at}(x) {{ f{}(x) }}\n", at + 1);
        let functions: String = (0..count).map(function).collect();
        format!("r0 {{ f0(1) }}\n{functions}f{count}(x) = true")
    };
    let first = "violation[{\"msg\": \"m\"}] { r0 }\n";
    for policy in [rules(6000), functions(6000)] {
        let why = "is nested too deeply, which is not supported natively; use --no-native\n";
        fails(&items(&format!("{first}{policy}")), why);
    }
    for policy in [rules(100), functions(100)] {
        fails(
            &items(&format!("{first}{policy}")),
            "[error] v1/Thing/ns1/o : m\n",
        );
    }
}

/// The largest accepted policies of each kind fit the stack.
#[test]
fn the_deepest_policies_can_be_evaluated() {
    let kinds: [fn(usize) -> String; 5] = [
        |size| {
            let rule = |at: usize| format!("r{at} {{ r{} }}\n", at + 1);
            format!("{}r{size} = true", (0..size).map(rule).collect::<String>())
        },
        |size| {
            let rule = |at: usize| format!("f{at}(x) = y {{ y := [f{}(x) | true][0] }}\n", at + 1);
            format!(
                "r0 {{ f0(1) }}\n{}f{size}(x) = x",
                (0..size).map(rule).collect::<String>()
            )
        },
        |size| {
            let statement = |at: usize| format!("  x{at} := [1][_]\n");
            format!("r0 {{\n{}}}", (0..size).map(statement).collect::<String>())
        },
        |size| {
            let rule = |at: usize| {
                format!(
                    "f{at}(x) = z {{ z := {}f{}(x){} }}\n",
                    "(1 + ".repeat(20),
                    at + 1,
                    ")".repeat(20)
                )
            };
            format!(
                "r0 {{ f0(1) }}\n{}f{size}(x) = x",
                (0..size).map(rule).collect::<String>()
            )
        },
        |size| {
            let rule = |at: usize| {
                format!(
                    "f{at}(x) = [y] {{ y := f{}(x) with input.a as 1 }}\n",
                    at + 1
                )
            };
            format!(
                "r0 {{ f0(1) }}\n{}f{size}(x) = x",
                (0..size).map(rule).collect::<String>()
            )
        },
    ];
    for kind in kinds {
        let items = |size: usize| {
            items(&format!(
                "violation[{{\"msg\": \"m\"}}] {{ r0 }}\n{}",
                kind(size)
            ))
        };
        let (mut accepted, mut refused) = (1, 3_000);
        while refused - accepted > refused / 10 {
            let size = (accepted + refused) / 2;
            let answer = run(&items(size));
            match answer.stderr.contains("nested too deeply") || answer.stderr.contains("too long")
            {
                true => refused = size,
                false => accepted = size,
            }
        }
        let answer = run(&items(accepted));
        assert!(
            answer.stderr.starts_with("[error] v1/Thing/ns1/o : m\n"),
            "{accepted}: {}",
            answer.stderr
        );
    }
}

#[test]
fn functions_that_return_much_are_stopped() {
    for policy in [
        evaluates("numbers.range(1, 1000000000)"),
        evaluates("numbers.range(-9223372036854775808, 9223372036854775807)"),
        evaluates("[product(numbers.range(1, 200000))]"),
        evaluates("net.cidr_expand(\"0.0.0.0/0\")"),
        evaluates("net.cidr_expand(\"::/0\")"),
        // The smallest network whose addresses, in bytes, do not fit a machine word.
        evaluates("net.cidr_expand(\"::/66\")"),
        evaluates(&format!(
            "json.marshal_with_options(numbers.range(1, 1000), {{\"indent\": {}}})",
            text("a", 100_000)
        )),
        evaluates(&format!(
            "regex.find_all_string_submatch_n(\"(a)(a)\", {}, -1)",
            text("a", 200_000)
        )),
        // A syntax tree is much larger than its pattern.
        evaluates(&format!("[regex.match({}, \"a\")]", text("aa", 200_000))),
        evaluates(&format!("[re_match({}, \"a\")]", text("aa", 200_000))),
        evaluates(&format!("regex.split({}, \"a\")", text("aa", 200_000))),
        evaluates(&format!("[glob.match({}, [], \"a\")]", text("aa", 200_000))),
        evaluates("[bits.lsh(1, 4294967295)]"),
        evaluates("[to_number(\"1e999999999\")]"),
        evaluates("[json.unmarshal(\"[1e999999999]\")]"),
        evaluates("[units.parse(\"1e999999999\")]"),
        evaluates("[units.parse_bytes(\"1e999999999\")]"),
        evaluates("graph.reachable_paths({\"a\": [\"b\"]}, [\"a\"])"),
    ] {
        fails(&policy, "not supported natively; use --no-native");
    }
}

#[test]
fn comprehensions_that_collect_much_are_stopped() {
    for policy in [
        evaluates(
            "[x | r := numbers.range(1, 10000)\n    a := r[_]\n    b := r[_]\n    c := r[_]\n    x := [a, b, c]]",
        ),
        evaluates("{x | r := numbers.range(1, 10000)\n    x := [r[_], r[_]]}"),
        // Sets that are results of operators.
        collected("all | {x}"),
        collected("all - {x}"),
        collected("all & (all - {x})"),
        // The default of a rule.
        items(
            "violation[{\"msg\": \"m\"}] { d }\ndefault d = [[x, y] | r := numbers.range(1, 1000)\n  x := r[_]\n  y := r[_]]",
        ),
        evaluates(
            "{x: y | r := numbers.range(1, 10000)\n    x := r[_] * 10000 + r[_]\n    y := {\"a\": x}}",
        ),
    ] {
        fails(&policy, "not supported natively; use --no-native");
    }
}

/// Twelve rules, each of which extends the one before; `#` in `step` stands for that one's name.
fn doubled(start: &str, step: &str) -> String {
    let rules = (0..12).map(|at| {
        let step = step.replace('#', &format!("s{at}"));
        format!("s{} = {step}\n", at + 1)
    });
    let rules: String = rules.collect();
    items(&format!(
        "violation[{{\"msg\": msg}}] {{ msg := sprintf(\"%v\", [count(s12)]) }}\ns0 = {start}\n{rules}"
    ))
}

#[test]
fn values_that_grow_from_rule_to_rule_are_stopped() {
    for policy in [
        doubled("\"aaaaaaaaaa\"", "replace(#, \"a\", #)"),
        doubled(
            "\"aaaaaaaaaa\"",
            "concat(\"\", [#, #, #, #, #, #, #, #, #, #])",
        ),
        doubled("\"aaaaaaaaaa\"", "concat(#, [#, #, #])"),
        doubled(
            "\"aaaaaaaaaa\"",
            "sprintf(\"%v%v%v%v%v%v%v%v\", [#, #, #, #, #, #, #, #])",
        ),
        doubled(
            "\"%9999d\"",
            "replace(sprintf(\"%s%s%s%s%s%s%s%s\", [#, #, #, #, #, #, #, #]), \"%\", \"%\")",
        ),
        doubled("\"aaaaaaaaaa\"", "regex.replace(#, \"a\", #)"),
        doubled(
            "\"aaaaaaaaaa\"",
            "regex.replace(#, \"^(.*)$\", \"$1$1$1$1$1$1$1$1$1\")",
        ),
        doubled("\"aaaaaaaaaa\"", "strings.replace_n({\"a\": #}, #)"),
        doubled(
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 0]",
            "array.concat(array.concat(#, #), array.concat(array.concat(#, #), array.concat(array.concat(#, #), array.concat(#, #))))",
        ),
        doubled("[3]", "[y | x := #[_]; y := x * x * x * x * x * x * x * x]"),
        doubled("[\"a\"]", "[json.marshal([#, #, #, #, #, #, #, #, #, #])]"),
        doubled("[\"a\"]", "[#, #, #, #, #, #, #, #, #, #]")
            .replace("count(s12)", "json.marshal(s12)"),
        doubled("[\"a\"]", "[#, #, #, #, #, #, #, #, #, #]").replace("[count(s12)]", "s12"),
        doubled("[\"a\"]", "[#, #, #, #, #, #, #, #, #, #]")
            .replace("count(s12)", "[p | walk(s12, [p, _])]"),
        doubled(
            "\"ab\"",
            "base64.encode(concat(\"\", [#, #, #, #, #, #, #]))",
        ),
        doubled("\"ab\"", "hex.encode(concat(\"\", [#, #, #, #, #, #, #]))"),
        doubled("\"ab\"", "upper(concat(\"\", [#, #, #, #, #, #, #]))"),
    ] {
        fails(&policy, "not supported natively; use --no-native");
    }
}

/// Each result names the resource that it is about.
#[test]
fn results_about_long_names_are_stopped() {
    let rules = "violation[{\"msg\": msg}] { msg := sprintf(\"%d\", [numbers.range(1, 1000)[_]]) }";
    let long = "o".repeat(300_000);
    let list = items(rules).replace("name: o,", &format!("name: {long},"));
    assert!(list.len() > 300_000);
    fails(&list, "results of policies take more than 64 MiB");
}

#[test]
fn faults_of_constraints_are_few() {
    let values = "a, ".repeat(10_000);
    let parameters = "x, ".repeat(10_000);
    let list = items("violation[{\"msg\": \"m\"}] { false }")
        .replace(
            "names: {kind: Foo}",
            &format!(
                "names: {{kind: Foo}}, validation: {{openAPIV3Schema: {{properties: {{p: {{items: {{enum: [{values}]}}}}}}}}}}"
            ),
        )
        .replace("spec: {match", &format!("spec: {{parameters: {{p: [{parameters}]}}, match"));
    let answer = run(&list);
    assert!(
        answer.stderr.contains("Unsupported value"),
        "{}",
        &answer.stderr[..1000]
    );
    assert!(answer.stderr.len() < 4 << 20, "{}", answer.stderr.len());
}

#[test]
fn deep_values_are_refused() {
    let rules = (1..20).map(|at| format!("f{at}(x) = f{0}(f{0}(f{0}(f{0}(x))))\n", at - 1));
    let rules: String = rules.collect();
    let policy = items(&format!(
        "violation[{{\"msg\": msg}}] {{ msg := sprintf(\"%v\", [f19(1)]) }}\nf0(x) = [[[[[[[[x]]]]]]]]\n{rules}"
    ));
    fails(&policy, "a value is nested deeper than");
}

#[test]
fn odd_arguments_are_undefined() {
    let calls = [
        "numbers.range_step(1, 10, 0)",
        "numbers.range_step(1, 10, -3)",
        "numbers.range(1.5, 3)",
        "regex.template_match(\"ab{c}\", \"a\", \"{\", \"}\")",
        "regex.template_match(\"a\", \"a\", \"\", \"\")",
        "regex.find_n(\"(\", \"a\", 1)",
        "json.unmarshal(\"{\")",
        "product(\"a\")",
    ];
    for call in calls {
        let answer = run(&items(&format!(
            "violation[{{\"msg\": \"m\"}}] {{ not {call} }}"
        )));
        assert_eq!(
            answer.stderr, "[error] v1/Thing/ns1/o : m\nviolatedConstraint: c1\n",
            "{call}"
        );
    }
}

#[test]
fn bounded_functions_do_as_those_of_opa() {
    for (expression, expect) in [
        ("numbers.range(3, 1)", "[3, 2, 1]"),
        ("numbers.range_step(1, 6, 2)", "[1, 3, 5]"),
        ("product([2, 3, 7])", "42"),
        ("product({2, 3})", "6"),
        (
            "net.cidr_expand(\"10.0.0.0/30\")",
            "[\"10.0.0.0\", \"10.0.0.1\", \"10.0.0.2\", \"10.0.0.3\"]",
        ),
        ("indexof(\"äbc\", \"c\")", "2"),
        ("indexof(\"abc\", \"x\")", "-1"),
        ("indexof_n(\"aaa\", \"aa\")", "[0, 1]"),
        ("trim(\"..a.b..\", \".\")", "a.b"),
        ("trim_left(\"..a.\", \".\")", "a."),
        ("trim_right(\".a..\", \".\")", ".a"),
        (
            "strings.replace_n({\"a\": \"b\", \"b\": \"c\"}, \"ab\")",
            "bc",
        ),
        (
            "strings.replace_n({\"a\": \"1\", \"ab\": \"2\"}, \"ab\")",
            "1b",
        ),
        (
            "strings.replace_n({\"\": \"X\", \"a\": \"Y\"}, \"ab\")",
            "XYXbX",
        ),
        ("upper(\"aßŉ\")", "Aßŉ"),
        ("lower(\"ΑΣİ\")", "ασi"),
        ("replace(\"aXbX\", \"X\", \"--\")", "a--b--"),
        (
            "regex.find_n(\"[0-9]+\", \"1a22b333\", 2)",
            "[\"1\", \"22\"]",
        ),
        ("regex.find_n(\"[0-9]+\", \"1a22\", -1)", "[\"1\", \"22\"]"),
        (
            "regex.find_all_string_submatch_n(\"(a)(b)?\", \"abaab\", 2)",
            "[[\"ab\", \"a\", \"b\"], [\"a\", \"a\", \"\"]]",
        ),
        ("{1, 2, 3} - {2}", "{1, 3}"),
        ("count({1, 2} | {3} & {4, 3})", "3"),
        ("count(set() | {1})", "1"),
        ("5 - count([1])", "4"),
        ("regex.split(\"\", \"abc\")", "[\"a\", \"b\", \"c\"]"),
        ("regex.split(\"a*\", \"baac\")", "[\"b\", \"c\"]"),
        ("regex.split(\",+\", \"a,,b,c\")", "[\"a\", \"b\", \"c\"]"),
        (
            "regex.replace(\"foo bar\", \"(o+)\", \"<$1>\")",
            "f<oo> bar",
        ),
        (
            "regex.replace(\"ab\", \"(?P<x>a)|(?P<x>b)\", \"<$x>$$\")",
            "<a>$<b>$",
        ),
        (
            "regex.template_match(\"a{[0-9]+}c\", \"a12c\", \"{\", \"}\")",
            "true",
        ),
        (
            "regex.template_match(\"a{[0-9]+}c\", \"axc\", \"{\", \"}\")",
            "false",
        ),
        (
            "json.unmarshal(\"{\\\"a\\\": [1e3, \\\"1e99999\\\"]}\")",
            "{\"a\": [1000, \"1e99999\"]}",
        ),
        ("json.marshal({\"a\": [1, \"b\"]})", "{\"a\":[1,\"b\"]}"),
        ("[y | x := [1, 2, 3][_]; y := x * 2]", "[2, 4, 6]"),
        (
            "{x: {y: x} | x := [\"a\", \"b\"][y]}",
            "{\"a\": {0: \"a\"}, \"b\": {1: \"b\"}}",
        ),
        ("count([p | walk({\"a\": [1, 2]}, [p, _])])", "4"),
        ("to_number(\"1e3\")", "1000"),
        ("split(\"a,b\", \",\")", "[\"a\", \"b\"]"),
    ] {
        let rules = format!(
            "violation[{{\"msg\": msg}}] {{ print(\"a\", 1)\n msg := sprintf(\"%v\", [{expression}]) }}"
        );
        let answer = run(&items(&rules));
        let expect = format!("[error] v1/Thing/ns1/o : {expect}\nviolatedConstraint: c1\n");
        assert_eq!(answer.stderr, expect, "{expression}");
    }
}

/// Work without end that uses no memory: only the clock can stop it.
fn endless() -> [String; 3] {
    let loops = "r := numbers.range(1, 10000)\n    r[_] + r[_] + r[_] + r[_] == 0";
    let compared = |operator: &str| {
        let value = |name: &str| {
            let step = |at: usize| {
                let before = format!("{name}{at}");
                format!("  {name}{} := [{}]\n", at + 1, vec![before; 10].join(", "))
            };
            format!(
                "  {name}0 := \"a\"\n{}",
                (0..12).map(step).collect::<String>()
            )
        };
        items(&format!(
            "violation[{{\"msg\": \"m\"}}] {{\n{}{}  a12 {operator} b12\n}}",
            value("a"),
            value("b")
        ))
    };
    [
        evaluates(&format!("[1 | {loops}]")),
        compared("=="),
        compared("<"),
    ]
}

#[test]
fn the_deadline_stops_evaluation() {
    for policy in endless() {
        let timeout = Duration::from_millis(500);
        let run = RunContext {
            deadline: Some(Deadline {
                at: Instant::now() + timeout,
                timeout,
            }),
            ..RunContext::default()
        };
        let outcome = run_in("gatekeeper:latest", &policy, &run);
        assert!(
            matches!(outcome, Err(RunError::TimedOut { .. })),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_cancelled_call_ends() {
    for policy in endless() {
        let run = RunContext {
            cancel: CancelToken::new(),
            ..RunContext::default()
        };
        let cancel = run.cancel.clone();
        let (sender, receiver) = channel();
        std::thread::spawn(move || sender.send(run_in("gatekeeper:latest", &policy, &run)));
        // The call has begun, or ends before it begins: both are correct.
        assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err());
        cancel.cancel();
        let outcome = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(matches!(outcome, Err(RunError::Cancelled)), "{outcome:?}");
    }
}
