//! Behaviour that only the parts of the function show.

use std::cmp::Ordering;

use kiln_krm::record::is_base_60;
use kiln_runtime::{RunContext, RunError};

use super::INFO;
use super::encode::float_text;
use super::time::Time;
use crate::function::{Context, NoFiles};
use crate::port::go_yaml::compare_keys;
use crate::wire;

#[test]
fn keys_are_ordered_as_go_yaml_orders_them() {
    for (a, b) in [
        ("a", "b"),
        ("a2", "a10"),
        ("a1b", "ab"),
        ("A", "a"),
        ("1", "a"),
        ("a.b", "ab"),
        ("a-b", "a.b"),
        ("a", "aa"),
        ("a1", "a01"),
    ] {
        assert_eq!(compare_keys(a, b), Ordering::Less, "{a} {b}");
        assert_eq!(compare_keys(b, a), Ordering::Greater, "{b} {a}");
    }
}

#[test]
fn timestamps_are_written_in_one_way() {
    for (text, written) in [
        ("2020-01-02", Some("2020-01-02T00:00:00Z")),
        ("2020-1-2", Some("2020-01-02T00:00:00Z")),
        ("2020-01-02T03:04:05Z", Some("2020-01-02T03:04:05Z")),
        ("2020-01-02 03:04:05.600", Some("2020-01-02T03:04:05.6Z")),
        (
            "2020-01-02t03:04:05+01:00",
            Some("2020-01-02T03:04:05+01:00"),
        ),
        ("2020", None),
        ("a-b-c", None),
    ] {
        let time = Time::parse(text).map(|time| time.text);
        assert_eq!(time.as_deref(), written, "{text}");
    }
}

#[test]
fn numbers_to_the_base_60_are_known() {
    for text in ["1:30", "-12:05:59", "1:2.5", "190:20:30"] {
        assert!(is_base_60(text), "{text}");
    }
    for text in ["1:60", "a:30", "1", "1:", ":1", "1:2:", "nginx:1.7"] {
        assert!(!is_base_60(text), "{text}");
    }
}

#[test]
fn floats_look_like_gos() {
    for (float, text) in [(1.0, "1"), (0.5, "0.5"), (1e21, "1e+21"), (1e6, "1e+06")] {
        assert_eq!(float_text(float), text);
    }
}

#[test]
fn what_is_known_of_kubernetes_can_be_asked_for() {
    let run = |expression: &str| {
        let input = format!(
            "kind: ResourceList\nitems: []\nfunctionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata: {{name: s}}\n  source: |\n    print(ctx.open_api{expression})\n"
        );
        let ctx = Context {
            environment: &[],
            files: &NoFiles,
            run: &RunContext::default(),
        };
        let version = INFO.version("latest").unwrap();
        wire::run(version, input.as_bytes(), &ctx).unwrap()
    };
    let definitions = "[\"definitions\"]";
    for (path, expected) in [
        (
            "[\"io.k8s.api.apps.v1.Deployment\"][\"x-kubernetes-group-version-kind\"][0][\"kind\"]",
            "Deployment\n",
        ),
        (
            "[\"io.k8s.api.core.v1.PodSpec\"][\"properties\"][\"containers\"][\"items\"][\"$ref\"]",
            "#/definitions/io.k8s.api.core.v1.Container\n",
        ),
        (
            "[\"io.k8s.api.apps.v1.DeploymentSpec\"][\"properties\"][\"replicas\"][\"type\"]",
            "integer\n",
        ),
    ] {
        assert_eq!(run(&format!("{definitions}{path}")).stderr, expected);
    }
    for unknown in [
        "[\"paths\"]",
        "[\"definitions\"].keys()",
        "[\"definitions\"][\"io.k8s.api.core.v1.Pod\"][\"description\"]",
    ] {
        let answer = run(unknown);
        assert!(
            answer.stdout.contains("not known to the native function"),
            "{unknown}"
        );
        assert_eq!(answer.exit_code, 1);
    }
}

/// A list with one resource and a script.
fn list_with(script: &str) -> String {
    let script: String = script.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "kind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: a}}\n\
         functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata: {{name: s}}\n  \
         source: |\n{script}"
    )
}

fn run_script(script: &str, run: &RunContext) -> Result<wire::ProgramOutput, RunError> {
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run,
    };
    let version = INFO.version("latest").unwrap();
    wire::run(version, list_with(script).as_bytes(), &ctx)
}

/// A value of 10^13 nodes whose parts are shared.
const SHARED: &str =
    "a = ['lol'] * 10\nfor i in range(12): a = [a] * 10\nr = ctx.resource_list['items'][0]\n";

#[test]
fn scripts_that_need_too_much_memory_fail() {
    for script in [
        "r['a'] = a",
        "r['a'] = str(a)",
        "load('encoding/json.star', 'json')\nr['a'] = json.encode(a)",
        "load('encoding/yaml.star', 'yaml')\nr['a'] = yaml.dumps(a)",
        "load('encoding/yaml.star', 'yaml')\nr['a'] = yaml.loads('[' + 'a,' * 10000000 + ']')",
        "v = 'x' * 50000000\nr['a'] = [v] * 60",
        "v = 'x\\n' * 5000000\nfor i in range(50): r = r.setdefault('a', {})\nr['a'] = v",
        "while True: print('lol' * 1000)",
        "fail('v' * 500000000)",
    ] {
        let answer = run_script(&format!("{SHARED}{script}"), &RunContext::default()).unwrap();
        assert_eq!(answer.exit_code, 1, "{script}");
        let needed = "starlark: the script needs more than";
        assert!(answer.stdout.contains(needed), "{script}");
        // The function returns its input.
        assert!(answer.stdout.contains("name: a"), "{script}");
    }
}

#[test]
fn a_caller_can_stop_a_script_in_any_conversion() {
    for script in [
        "while True: pass",
        "r['a'] = a",
        "x = str(a)",
        "load('encoding/json.star', 'json')\nx = json.encode(a)",
        "load('encoding/yaml.star', 'yaml')\nx = yaml.dumps(a)",
        "t = ('lol',) * 10\nfor i in range(12): t = (t,) * 10\nx = {t: 1}",
        "b = ['lol'] * 10\nfor i in range(8): b = [b] * 10\nc = ['lol'] * 10\nfor i in range(8): c = [c] * 10\nx = b == c",
    ] {
        let run = RunContext::default();
        run.cancel.cancel();
        let answer = run_script(&format!("{SHARED}{script}"), &run);
        assert!(matches!(answer, Err(RunError::Cancelled)), "{script}");
    }
}

#[test]
fn values_that_are_nested_too_deep_are_refused() {
    for nest in ["[x]", "{'a': x}", "(x,)"] {
        let script = format!(
            "x = 1\nfor i in range(200000): x = {nest}\nctx.resource_list['items'][0]['a'] = x"
        );
        let answer = run_script(&script, &RunContext::default()).unwrap();
        let expected = "message: 'yaml: exceeded max depth of 10000'";
        assert!(answer.stdout.contains(expected), "{nest}");
    }
}

#[test]
fn aliases_cannot_make_much_of_little() {
    let item = |i: usize| {
        format!(
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: a{i}}}\n  data: [&a [x, x, x, x, x, x, x, x, x, x], \
             &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a], &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b], \
             &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c], &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]]\n"
        )
    };
    let items: String = (0..100).map(item).collect();
    let input = list_with("x = 1").replacen("items:\n", &format!("items:\n{items}"), 1);
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let version = INFO.version("latest").unwrap();
    let answer = wire::run(version, input.as_bytes(), &ctx).unwrap();
    assert!(
        answer
            .stdout
            .contains("starlark: the script needs more than")
    );
}

#[test]
fn a_large_list_may_be_changed() {
    let item = |i: usize| {
        let text = "x".repeat(10_000);
        format!(
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: a{i}}}\n  data: {{a: {text}}}\n"
        )
    };
    let items: String = (0..10_000).map(item).collect();
    let script = "[r['data'].update(b = r['data']['a'] + 'y') for r in ctx.resource_list['items'] if 'data' in r]";
    let input = list_with(script).replacen("items:\n", &format!("items:\n{items}"), 1);
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let version = INFO.version("latest").unwrap();
    let answer = wire::run(version, input.into_bytes(), &ctx).unwrap();
    assert_eq!(
        answer.exit_code,
        0,
        "{}",
        &answer.stdout[answer.stdout.len() - 500..]
    );
}

#[test]
fn up_to_v0_4_2_a_script_that_fails_prints_nothing() {
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    for (version, stderr) in [
        ("v0.4.0", ""),
        ("v0.4.2", ""),
        (
            "v0.4.3",
            "failed to evaluate function: error: function failure",
        ),
    ] {
        let version = INFO.version(version).unwrap();
        let answer = wire::run(version, list_with("fail('oh no')").as_bytes(), &ctx).unwrap();
        assert_eq!((answer.exit_code, answer.stderr.as_str()), (1, stderr));
        assert!(answer.stdout.contains("- message: 'fail: oh no'"));
    }
}
