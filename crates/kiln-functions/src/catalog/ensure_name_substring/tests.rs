//! Renamed resources, unchanged resources, and error messages for invalid configurations.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire;

fn run(version: &str, items: &str, config: &str) -> wire::ProgramOutput {
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig: {config}\n"
    );
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let version = INFO.version(version).unwrap();
    wire::run(version, input.as_bytes(), &ctx).unwrap()
}

const PREPEND: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {prepend: dev-}}";

#[track_caller]
fn check(version: &str, items: &str, expected: &str) {
    let answer = run(version, items, PREPEND);
    let items = answer.stdout.split("items:\n").nth(1).unwrap();
    assert_eq!(items.split("functionConfig:").next().unwrap(), expected);
    assert_eq!(answer.exit_code, 0);
}

#[test]
fn a_name_keeps_its_quotes_and_loses_its_comment() {
    check(
        "latest",
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    # why\n    name: 'a' # this\n",
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    # why\n    name: 'dev-a'\n",
    );
}

#[test]
fn names_that_have_it_and_types_that_are_skipped_stay() {
    for item in [
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: my-dev-a}}\n",
        "- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n",
        "- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}}\n",
        "- {apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}}\n",
    ] {
        check("latest", item, item);
    }
}

#[test]
fn the_first_release_renames_kptfiles_and_leaves_dependencies() {
    let dependent = "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations:\n      config.kubernetes.io/depends-on: kpt.dev/Kptfile/b\n- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: b}}\n";
    let answer = run("v0.1.1", dependent, PREPEND);
    assert!(answer.stdout.contains("depends-on: kpt.dev/Kptfile/b\n"));
    assert!(answer.stdout.contains("metadata: {name: dev-b}"));
    assert!(answer.stderr.starts_with("ens.AdditionalNameFields: "));
    let answer = run("v0.2.0", dependent, PREPEND);
    assert!(
        answer
            .stdout
            .contains("depends-on: kpt.dev/Kptfile/dev-b\n")
    );
    assert!(answer.stdout.contains("metadata: {name: b}"));
    assert_eq!(answer.stderr, "");
}

#[test]
fn only_the_newest_takes_off_where_resources_are_kept() {
    let item = "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/path: a.yaml\n";
    let has_path = |version| run(version, item, PREPEND).stdout.contains("a.yaml");
    assert!(has_path("v0.2.0"));
    assert!(!has_path("v0.2.1"));
}

#[test]
fn bad_configurations_are_refused() {
    let item = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
    for (config, message) in [
        ("{}", "missing Resource metadata"),
        (
            "{apiVersion: v1, kind: ConfigMap}",
            "missing metadata.name in object {{v1 ConfigMap} {{ } map[] map[]}}",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b, c: d}}",
            "only 1 entry is allowed in the ConfigMap, but got: 2",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}",
            "unknown editMode: a, only prepend and append are allowed",
        ),
        (
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: EnsureNameSubstring, metadata: {name: c}}",
            "substring must not be empty",
        ),
        (
            "{apiVersion: fn.kpt.dev/v1alpha1, kind: EnsureNameSubstring, metadata: {name: c}, substring: [a]}",
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field EnsureNameSubstring.substring of type string",
        ),
        (
            "{apiVersion: a/v1, kind: B, metadata: {name: c}}",
            "function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: a/v1, Kind=B",
        ),
    ] {
        let answer = run("latest", item, config);
        let expected = format!("failed to load the `functionConfig`: {message}");
        assert_eq!(answer.stderr, expected, "{config}");
        assert_eq!(answer.exit_code, 1);
        assert!(answer.stdout.contains(item));
    }
}
