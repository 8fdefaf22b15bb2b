//! The function as a whole.

use kiln_runtime::RunContext;

use crate::function::{Context, Files};
use crate::registry::Registry;
use crate::wire;

/// Files by path.
struct Given<'a>(&'a [(&'a str, &'a str)]);

impl Files for Given<'_> {
    fn read(&self, path: &str) -> Option<String> {
        let file = self.0.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| (*text).to_owned())
    }
}

fn run(config: &str, items: &str, files: &[(&str, &str)]) -> wire::ProgramOutput {
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {config}\nitems:\n{items}"
    );
    let version = Registry::builtin()
        .find_image("kubeconform:latest")
        .unwrap();
    let ctx = Context {
        environment: &[],
        run: &RunContext::default(),
        files: &Given(files),
    };
    wire::run(version, input.as_bytes(), &ctx).unwrap()
}

#[track_caller]
fn check(config: &str, items: &str, files: &[(&str, &str)], messages: &[&str]) {
    let answer = run(config, items, files);
    let reported: Vec<&str> = answer
        .stdout
        .lines()
        .filter_map(|line| line.trim().strip_prefix("message: "))
        .collect();
    assert_eq!(reported, messages, "{answer:?}");
    assert_eq!(answer.exit_code, i32::from(!messages.is_empty()));
    let failed = "failed to evaluate function: error: function failure";
    assert_eq!(answer.stderr, if messages.is_empty() { "" } else { failed });
}

const BAD: &str =
    "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}, more: 2}\n";
const NOT_A_STRING: &str = "got number, want null or string";
const MORE: &str = "additional properties 'more' not allowed";

#[test]
fn results_name_resource_field_and_file() {
    let items = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    namespace: b\n    annotations:\n      \
                 internal.config.kubernetes.io/path: x.yaml\n      internal.config.kubernetes.io/index: '2'\n  \
                 data: {a/b: 1}\n";
    let answer = run("{}", items, &[]);
    let results = answer.stdout.split_once("results:\n").unwrap().1;
    assert_eq!(
        results,
        "- field:\n    path: data.a.b\n  file:\n    index: 2\n    path: x.yaml\n  message: got number, want null or string\n  \
         resourceRef:\n    name: a\n    namespace: b\n    apiVersion: v1\n    kind: ConfigMap\n  severity: error\n"
    );
}

#[test]
fn strict_is_a_word_in_data_and_a_boolean_beside_it() {
    for config in [
        "{data: {strict: 'TRUE'}}",
        "{data: {strict: '1'}}",
        "{strict: true}",
    ] {
        check(config, BAD, &[], &[NOT_A_STRING, MORE]);
    }
    for config in [
        "{}",
        "{data: {strict: true}}",
        "{strict: 'true'}",
        "{data: {strict: 'yes'}}",
    ] {
        check(config, BAD, &[], &[NOT_A_STRING]);
    }
}

#[test]
fn kinds_can_be_skipped() {
    check("{data: {skip_kinds: 'Pod,ConfigMap'}}", BAD, &[], &[]);
    check("{data: {skip_kinds: v1/ConfigMap}}", BAD, &[], &[]);
    check("{data: {skip_kinds: configmap}}", BAD, &[], &[NOT_A_STRING]);
}

#[test]
fn what_has_no_schema_passes() {
    check(
        "{}",
        "- {apiVersion: example.com/v1, kind: Foo, spec: 1}\n",
        &[],
        &[],
    );
    check("{}", "- {kind: ConfigMap, data: 1}\n", &[], &[]);
    // The program cannot read its name, and the function ignores that.
    check(
        "{}",
        "- {apiVersion: v1, kind: ConfigMap, metadata: [], data: 1}\n",
        &[],
        &[],
    );
}

#[test]
fn lists_are_looked_into() {
    let list = "- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, data: 1}]}\n";
    check("{}", list, &[], &["got number, want null or object"]);
}

#[test]
fn schemas_come_from_locations() {
    let item = "- {apiVersion: example.com/v1, kind: Foo, spec: {size: big}}\n";
    let schema = r#"{"properties": {"spec": {"properties": {"size": {"type": "integer"}}}}}"#;
    let wrong = ["got string, want integer"];
    let files = [("/s/master-standalone/foo-example-v1.json", schema)];
    check(
        "{data: {schema_location: 'file:///s'}}",
        item,
        &files,
        &wrong,
    );
    let files = [("/t/example.com/foo_v1.json", schema)];
    let template = "{data: {additional_schema_locations: '/none,/t/{{.Group}}/{{.ResourceKind}}_{{ .ResourceAPIVersion }}.json'}}";
    check(template, item, &files, &wrong);
    // With a custom location the built-in schemas are not used.
    check("{data: {schema_location: /s}}", BAD, &files, &[]);
    check(
        "{data: {schema_location: 'file:///jsonschema'}}",
        BAD,
        &files,
        &[NOT_A_STRING],
    );
}

#[test]
fn the_network_is_out_of_reach() {
    let answer = run("{data: {schema_location: 'https://example.com'}}", BAD, &[]);
    assert_eq!(answer.exit_code, 1);
    assert!(answer.stderr.contains("--no-native"), "{}", answer.stderr);
    let answer = run(
        "{data: {schema_location: '/x/{{ .Nothing }}.json'}}",
        BAD,
        &[],
    );
    assert_eq!(
        answer.stderr,
        "failed to evaluate function: failed to run kubeconform: exit status 1"
    );
}

#[test]
fn keys_that_json_does_not_have_are_an_error() {
    let answer = run(
        "{}",
        "- {apiVersion: v1, kind: ConfigMap, data: {1: a}}\n",
        &[],
    );
    assert!(
        answer
            .stderr
            .ends_with("json: unsupported type: map[interface {}]interface {}")
    );
}
