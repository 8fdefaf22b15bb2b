//! What only parts of the function can show.

use std::cmp::Ordering;

use kiln_krm::record::is_base_60;
use kiln_runtime::RunContext;

use super::INFO;
use super::encode::float_text;
use super::time::Time;
use crate::function::{Context, NoFiles};
use crate::sdk::go_yaml::compare_keys;
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
        let behaviour = INFO.behaviour("latest").unwrap();
        wire::run(behaviour, input.as_bytes(), &ctx).unwrap()
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
