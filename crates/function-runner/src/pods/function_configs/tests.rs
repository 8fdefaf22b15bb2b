//! Which images FunctionConfigs run on this machine, and which reasons they report.

use std::path::Path;

use super::*;
use crate::environment::Environment;
use crate::flags::{Flavour, RunnerFlags};

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

fn objects(directory: &Path, arguments: &[&str]) -> ClusterFunctionConfigs {
    let functions = format!("--functions={}", directory.display());
    let arguments = [&[functions.as_str()], arguments].concat();
    let arguments = arguments.into_iter().map(str::to_owned);
    let environment = Environment::default();
    let config = RunnerFlags::new(Flavour::FunctionRunner).parse(arguments, &environment);
    ClusterFunctionConfigs::new(&config.unwrap())
}

fn config(spec: serde_json::Value) -> FunctionConfig {
    let object = serde_json::json!({"metadata": {"name": "a", "generation": 1}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

fn with_program(path: &str) -> FunctionConfig {
    config(serde_json::json!({
        "image": "set-labels",
        "prefixes": ["", "example.org/fns"],
        "binaryExecutor": {"tags": ["v1", "v2"], "path": path},
    }))
}

#[test]
fn program_paths_are_relative_or_absolute() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("labels");
    std::fs::write(&program, "").unwrap();
    let absolute = program.display().to_string();
    for path in ["labels", absolute.as_str()] {
        let objects = objects(directory.path(), &[]);
        objects.set(vec![with_program(path)]);
        let found = |image: &str| objects.program(image);
        assert_eq!(
            found(&format!("{PREFIX}/set-labels:v1")).as_ref(),
            Some(&program)
        );
        assert_eq!(
            found("example.org/fns/set-labels:v2").as_ref(),
            Some(&program)
        );
        // Prefixes match whole path components.
        assert_eq!(
            found("example.org/fns/more/set-labels:v2").as_ref(),
            Some(&program)
        );
        assert_eq!(found("example.org/fnsmore/set-labels:v2"), None);
        assert_eq!(found("example.org/fns/set-labels:v3"), None);
        assert_eq!(found("example.org/fns/set-labels"), None);
        assert_eq!(found("example.org/fns/labels:v1"), None);
        assert_eq!(found("gcr.io/kpt-fn/set-labels:v1"), None);
        let digest = format!("example.org/fns/set-labels:v1@sha256:{}", "0".repeat(64));
        assert_eq!(
            found(&digest),
            None,
            "a digest identifies one image exactly"
        );
        assert_eq!(objects.unsupported(&with_program(path)), None);
    }
}

#[test]
fn changes_take_effect_at_once() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("one"), "").unwrap();
    std::fs::write(directory.path().join("two"), "").unwrap();
    let objects = objects(directory.path(), &[]);
    let image = "example.org/fns/set-labels:v1";
    assert_eq!(objects.program(image), None);
    objects.set(vec![with_program("one")]);
    assert_eq!(objects.program(image), Some(directory.path().join("one")));
    objects.set(vec![with_program("two")]);
    assert_eq!(objects.program(image), Some(directory.path().join("two")));
    objects.set(Vec::new());
    assert_eq!(objects.program(image), None);
}

#[test]
fn a_missing_program_is_reported_and_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let objects = objects(directory.path(), &[]);
    let missing = with_program("labels");
    objects.set(vec![missing.clone()]);
    assert_eq!(objects.program("example.org/fns/set-labels:v1"), None);
    let program = directory.path().join("labels");
    let expected = format!(
        "spec.binaryExecutor.path: {} does not exist",
        program.display()
    );
    assert_eq!(objects.unsupported(&missing), Some(expected));
    std::fs::write(&program, "").unwrap();
    assert_eq!(objects.unsupported(&missing), None);
    assert_eq!(
        objects.program("example.org/fns/set-labels:v1"),
        Some(program)
    );
}

#[test]
fn built_in_functions_can_run_under_other_names() {
    let objects = objects(Path::new("/nowhere"), &[]);
    let renamed = config(serde_json::json!({
        "image": "namespaces",
        "prefixes": ["example.org/fns"],
        "goExecutor": {"id": "set-namespace", "tags": ["v0.4", "v0.4.1", "v77"]},
    }));
    let same = config(serde_json::json!({
        "image": "set-labels",
        "prefixes": ["example.org/fns"],
        "goExecutor": {"tags": ["v0.2.0"]},
    }));
    objects.set(vec![renamed.clone(), same.clone()]);
    let found = |image: &str| objects.builtin(image);
    assert_eq!(
        found("example.org/fns/namespaces:v0.4.1").as_deref(),
        Some("set-namespace:v0.4.1")
    );
    assert_eq!(
        found("example.org/fns/namespaces:v0.4").as_deref(),
        Some("set-namespace:v0.4")
    );
    assert_eq!(found("example.org/fns/namespaces:v77"), None);
    assert_eq!(
        found("example.org/fns/set-labels:v0.2.0").as_deref(),
        Some("set-labels:v0.2.0")
    );
    assert_eq!(found("example.org/fns/set-labels:v0.1.5"), None);
    let reason = objects.unsupported(&renamed).unwrap();
    assert_eq!(reason, "spec.goExecutor: not built in: set-namespace:v77");
    assert_eq!(objects.unsupported(&same), None);
}

/// From Porch's own deployment.
#[test]
fn functions_built_into_porch_are_built_in() {
    for (name, tags) in [
        ("apply-replacements", ["v0.1", "v0.1.5"]),
        ("set-namespace", ["v0.4", "v0.4.5"]),
        ("starlark", ["v0.5", "v0.5.5"]),
    ] {
        for tag in tags {
            assert!(is_builtin(name, tag), "{name}:{tag}");
        }
    }
}

/// Objects in the form of Porch's own, with ranges and with exact tags.
fn like_porch(pods: &str, program: &str, builtin: &str) -> FunctionConfig {
    config(serde_json::json!({
        "image": "set-namespace",
        "prefixes": ["", PREFIX],
        "podExecutor": {"tags": [pods], "timeToLive": "30m"},
        "binaryExecutor": {"tags": [program], "path": "set-namespace"},
        "goExecutor": {"id": "set-namespace", "tags": [builtin]},
    }))
}

#[test]
fn ranges_of_versions_are_supported() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("set-namespace");
    std::fs::write(&program, "").unwrap();
    let objects = objects(directory.path(), &[]);
    for (object, programs, builtins) in [
        (
            like_porch("~0.3", "~0.4", "v0.4.5"),
            ["v0.4.1", "v0.4.5"],
            "v0.4.5",
        ),
        (
            like_porch("v0.3.4", "v0.4.2", "v0.4"),
            ["v0.4.2", "v0.4.2"],
            "v0.4.5",
        ),
    ] {
        assert_eq!(objects.unsupported(&object), None);
        objects.set(vec![object]);
        let image = |tag: &str| format!("{PREFIX}/set-namespace:{tag}");
        for tag in programs {
            assert_eq!(
                objects.program(&image(tag)).as_ref(),
                Some(&program),
                "{tag}"
            );
        }
        assert_eq!(objects.program(&image("v0.3.4")), None);
        assert_eq!(
            objects.builtin(&image(builtins)),
            Some(format!("set-namespace:{builtins}"))
        );
        assert_eq!(objects.builtin(&image("v0.3.4")), None);
    }
    let unknown = like_porch("~0.3", "~0.4", "~7");
    assert_eq!(
        objects.unsupported(&unknown).as_deref(),
        Some("spec.goExecutor: not built in: set-namespace:~7")
    );
}

#[test]
fn images_that_need_no_pod_are_known() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("labels"), "").unwrap();
    let builtin = config(serde_json::json!({
        "image": "spaces",
        "prefixes": [""],
        "goExecutor": {"id": "set-namespace", "tags": ["~0.4"]},
    }));
    let check = |arguments: &[&str], expected: [bool; 4]| {
        let objects = objects(directory.path(), arguments);
        objects.set(vec![with_program("labels"), builtin.clone()]);
        let images = [
            "set-labels:v1",
            "spaces:v0.4.1",
            "starlark:v0.4.3",
            "own:v1",
        ];
        let runs = images.map(|image| objects.runs(&format!("{PREFIX}/{image}")));
        assert_eq!(runs, expected, "{arguments:?}");
    };
    check(&[], [true, true, true, false]);
    check(&["--disable-runtimes=native"], [true, false, false, false]);
    check(&["--disable-runtimes=exec"], [false, true, true, false]);
}

#[test]
fn disabled_evaluators_are_reported() {
    let off = objects(Path::new("/nowhere"), &["--disable-runtimes=exec,native"]);
    let both = config(serde_json::json!({
        "image": "set-labels",
        "binaryExecutor": {"tags": ["v1"], "path": "a"},
        "goExecutor": {"tags": ["v0.2.0"]},
    }));
    off.set(vec![both.clone()]);
    assert_eq!(off.program("example.org/set-labels:v1"), None);
    assert_eq!(
        off.unsupported(&both).unwrap(),
        "spec.binaryExecutor: --disable-runtimes has exec; spec.goExecutor: --disable-runtimes has native"
    );
}
