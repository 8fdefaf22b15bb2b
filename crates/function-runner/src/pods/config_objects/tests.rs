//! What FunctionConfigs have run on this machine, and what they hear back.

use std::path::Path;

use function_runner::{Environment, Flags, Flavour};

use super::*;

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

fn objects(directory: &Path, arguments: &[&str]) -> ConfigObjects {
    let functions = format!("--functions={}", directory.display());
    let arguments = [&[functions.as_str()], arguments].concat();
    let arguments = arguments.into_iter().map(str::to_owned);
    let environment = Environment::default();
    let config = Flags::new(Flavour::FunctionRunner).parse(arguments, &environment);
    ConfigObjects::new(&config.unwrap())
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
fn programs_are_below_the_directory_or_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("labels");
    std::fs::write(&program, "").unwrap();
    let by_itself = program.display().to_string();
    for path in ["labels", by_itself.as_str()] {
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
        // Prefixes are whole components of the path.
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
        assert_eq!(found(&digest), None, "a digest is that image and no other");
        assert_eq!(objects.complaint(&with_program(path)), None);
    }
}

#[test]
fn what_is_in_force_changes_at_once() {
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
fn a_program_that_is_not_there_is_told_and_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let objects = objects(directory.path(), &[]);
    let missing = with_program("labels");
    objects.set(vec![missing.clone()]);
    assert_eq!(objects.program("example.org/fns/set-labels:v1"), None);
    let program = directory.path().join("labels");
    let expected = format!(
        "spec.binaryExecutor.path: {} is not there",
        program.display()
    );
    assert_eq!(objects.complaint(&missing), Some(expected));
    std::fs::write(&program, "").unwrap();
    assert_eq!(objects.complaint(&missing), None);
    assert_eq!(
        objects.program("example.org/fns/set-labels:v1"),
        Some(program)
    );
}

#[test]
fn built_in_functions_serve_other_names() {
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
    let complaint = objects.complaint(&renamed).unwrap();
    assert_eq!(
        complaint,
        "spec.goExecutor: not built in: set-namespace:v77"
    );
    assert_eq!(objects.complaint(&same), None);
}

/// Those of Porch's own deployment.
#[test]
fn all_that_porch_has_built_in_is_built_in() {
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

#[test]
fn runtimes_that_are_off_are_told() {
    let off = objects(Path::new("/nowhere"), &["--disable-runtimes=exec,native"]);
    let both = config(serde_json::json!({
        "image": "set-labels",
        "binaryExecutor": {"tags": ["v1"], "path": "a"},
        "goExecutor": {"tags": ["v0.2.0"]},
    }));
    off.set(vec![both.clone()]);
    assert_eq!(off.program("example.org/set-labels:v1"), None);
    assert_eq!(
        off.complaint(&both).unwrap(),
        "spec.binaryExecutor: --disable-runtimes has exec; spec.goExecutor: --disable-runtimes has native"
    );
}
