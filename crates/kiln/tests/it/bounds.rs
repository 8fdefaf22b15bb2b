//! Functions that are built in and hostile: the command ends with an error, never by a signal, and writes nothing.

use std::fmt::Write as _;

use crate::test_environment::TestEnvironment;

/// A resource that configures one function or another.
const STARLARK: &str = "\
apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: hostile
source: |
";

const TEMPLATE: &str = "\
apiVersion: templates.gatekeeper.sh/v1beta1
kind: ConstraintTemplate
metadata:
  name: hostile
spec:
  crd:
    spec:
      names:
        kind: Hostile
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package hostile
";

const CONSTRAINT: &str = "\
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Hostile
metadata:
  name: hostile
spec:
  match:
    kinds:
    - apiGroups: ['']
      kinds: [ConfigMap]
";

fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    let lines = text.lines().map(|line| format!("{indent}{line}\n"));
    lines.collect()
}

/// A script for the catalog's function for Starlark.
fn starlark(source: &str) -> (&'static str, String) {
    let config = format!("{STARLARK}{}", indented(source, 2));
    (
        "    - image: starlark:v0.5.0\n      configPath: fn.yaml\n",
        config,
    )
}

/// A policy for the catalog's gatekeeper.
fn rego(rules: &str) -> (&'static str, String) {
    let config = format!("{TEMPLATE}{}{CONSTRAINT}", indented(rules, 6));
    ("    - image: gatekeeper:v0.2.2\n", config)
}

/// Renders with a time limit and checks that nothing is lost but the time.
#[track_caller]
fn check((function, config): (&str, String)) {
    let test_env = TestEnvironment::new();
    let head =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n";
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let files = [
        ("pkg/Kptfile", format!("{head}{function}")),
        ("pkg/a.yaml", resource.to_owned()),
        ("pkg/fn.yaml", config),
    ];
    for (name, text) in &files {
        test_env.write(name, text);
    }
    let ran = test_env.kiln(&["fn", "render", "pkg", "--timeout", "3s"], "");
    // A process that a signal ended has no exit code.
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for (name, text) in &files[1..] {
        let now = std::fs::read_to_string(test_env.work().join(name)).expect("a file");
        assert_eq!(&now, text, "{name}");
    }
}

#[test]
fn a_script_that_never_ends_is_out_of_time_or_steps() {
    check(starlark(
        "def f():\n  for i in range(1 << 60):\n    pass\nf()",
    ));
}

#[test]
fn values_that_share_parts_are_not_written_out() {
    let mut source = "a = ['lol'] * 10\n".to_owned();
    for _ in 0..12 {
        source.push_str("a = [a] * 10\n");
    }
    let uses = [
        "ctx.resource_list['items'][0]['data'] = {'k': a}",
        "str(a)",
        "{tuple(a): 1}",
    ];
    for last in uses {
        check(starlark(&format!("{source}{last}")));
    }
}

#[test]
fn a_script_that_keeps_all_it_makes_is_stopped() {
    check(starlark(
        "def f():\n  for i in range(1 << 60):\n    print('x' * 1000)\nf()",
    ));
    check(starlark("fail('v' * 500000000)"));
    check(starlark(
        "v = 'v' * 100000000\nw = [v + str(i) for i in range(60)]",
    ));
}

#[test]
fn policies_that_recurse_are_refused() {
    check(rego(
        "f(x) = y { y := f(x+1) }\nviolation[{\"msg\": \"m\"}] { f(1) > 2 }",
    ));
    check(rego(
        "f(x) = y { y := g(x) }\ng(x) = y { y := f(x) }\nviolation[{\"msg\": \"m\"}] { f(1) > 2 }",
    ));
    let minus = "-".repeat(900);
    check(rego(&format!(
        "violation[{{\"msg\": \"m\"}}] {{ x := {minus}1; x > 2 }}"
    )));
    let mut rules = "r0 = 1\n".to_owned();
    for number in 1..6000 {
        let _ = writeln!(rules, "r{number} = r{} + 1", number - 1);
    }
    check(rego(&format!(
        "{rules}violation[{{\"msg\": \"m\"}}] {{ r5999 > 2 }}"
    )));
}

#[test]
fn policies_that_take_all_time_or_memory_are_stopped() {
    for expression in [
        "count(numbers.range(1, 1000000000))",
        "product(numbers.range(1, 200000))",
        "count(net.cidr_expand(\"0.0.0.0/0\"))",
    ] {
        check(rego(&format!(
            "violation[{{\"msg\": \"m\"}}] {{ {expression} > 2 }}"
        )));
    }
}

#[test]
fn a_path_that_nests_too_deeply_is_refused() {
    let config = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fn\ndata:\n  by-path: {}\n  put-value: x\n",
        vec!["a"; 12_000].join(".")
    );
    check((
        "    - image: search-replace:v0.2.0\n      configPath: fn.yaml\n",
        config,
    ));
}
