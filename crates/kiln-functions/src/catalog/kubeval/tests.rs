//! The function as a whole. Messages are those of kubeval v0.16.1 on the same input.

use kiln_runtime::RunContext;

use crate::function::{Context, NoFiles};
use crate::registry::Registry;
use crate::wire;

fn run(config: &str, items: &str) -> wire::ProgramOutput {
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {config}\nitems:\n{items}"
    );
    let version = Registry::builtin()
        .find_image("gcr.io/kpt-fn/kubeval:v0.3.0")
        .unwrap();
    let ctx = Context {
        environment: &[],
        run: &RunContext::default(),
        files: &NoFiles,
    };
    wire::run(version, input.as_bytes(), &ctx).unwrap()
}

fn reported(answer: &wire::ProgramOutput) -> Vec<(String, String)> {
    let value = |name: &str| {
        let lines = answer.stdout.lines().map(str::trim);
        let lines = lines.filter_map(move |line| {
            line.trim_start_matches("- ")
                .strip_prefix(name)
                .map(str::to_owned)
        });
        lines.collect::<Vec<_>>()
    };
    let results = answer
        .stdout
        .split_once("results:")
        .map_or("", |(_, results)| results);
    let paths = results.lines().map(str::trim);
    let paths = paths.filter_map(|line| line.strip_prefix("path: ").map(str::to_owned));
    value("message: ").into_iter().zip(paths).collect()
}

#[track_caller]
fn check(config: &str, items: &str, expect: &[(&str, &str)]) {
    let answer = run(config, items);
    let reported = reported(&answer);
    let reported: Vec<(&str, &str)> = reported
        .iter()
        .map(|(message, path)| (path.as_str(), message.trim_matches('\'')))
        .collect();
    assert_eq!(reported, expect, "{answer:?}");
    assert_eq!(answer.exit_code, i32::from(!expect.is_empty()));
    assert_eq!(answer.stderr, "");
}

const STRICT: &str = "{apiVersion: v1, kind: ConfigMap, data: {strict: 'true'}}";

#[test]
fn complaints_are_flat() {
    check(
        STRICT,
        "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: a, templates: 1, \
         selector: {matchLabels: {a: 5}}}}\n",
        &[
            ("template", "template is required"),
            ("templates", "Additional property templates is not allowed"),
            (
                "spec.replicas",
                "Invalid type. Expected: [integer,null], given: string",
            ),
            (
                "spec.selector.matchLabels",
                "Invalid type. Expected: [string,null], given: integer",
            ),
        ],
    );
    check(
        "{}",
        "- {apiVersion: v1, kind: Service, metadata: {name: x, creationTimestamp: zz}, spec: {ports: [{port: 1.5, \
         targetPort: true}]}}\n",
        &[
            (
                "metadata.creationTimestamp",
                "Does not match format 'date-time",
            ),
            (
                "spec.ports.0.port",
                "Invalid type. Expected: integer, given: number",
            ),
            (
                "spec.ports.0.targetPort",
                "Must validate one and only one schema (oneOf)",
            ),
            (
                "spec.ports.0.targetPort",
                "Invalid type. Expected: [string,null], given: boolean",
            ),
        ],
    );
}

#[test]
fn kptfiles_are_known() {
    let kptfile = "- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}, pipeline: {mutators: [{image: x}]}}\n";
    check(STRICT, kptfile, &[]);
    let answer = run(STRICT, &kptfile.replace("image: x", "image: [x]"));
    assert!(
        answer.stdout.contains("pipeline.mutators.0.image"),
        "{answer:?}"
    );
}

#[test]
fn kinds_without_a_schema_are_errors() {
    let item = "- {apiVersion: foo/v1, kind: Bar, metadata: {name: x}}\n";
    let answer = run("{}", item);
    assert_eq!(answer.exit_code, 1);
    for part in [
        "Validating arbitrary CRDs is not supported yet.",
        "ERR  - stdin: Failed initializing schema file:///tmp/master-standalone/bar-foo-v1.json: open \
         /tmp/master-standalone/bar-foo-v1.json: no such file or directory",
    ] {
        assert!(answer.stdout.contains(part), "{answer:?}");
    }
    let config = |field: &str| format!("{{apiVersion: v1, kind: ConfigMap, data: {{{field}}}}}");
    check(&config("ignore_missing_schemas: 'true'"), item, &[]);
    check(&config("skip_kinds: 'Foo,Bar'"), item, &[]);
}

#[test]
fn kinds_that_only_the_image_knows_are_refused() {
    let item = "- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: x}}\n";
    let answer = run("{}", item);
    assert_eq!(answer.exit_code, 1);
    assert!(answer.stderr.contains("--no-native"), "{answer:?}");
}

#[test]
fn items_are_sorted_and_the_last_of_a_name_is_kept() {
    let item = |kind: &str, name: &str, data: &str| {
        format!("- {{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}, data: {data}}}\n")
    };
    let items = [
        item("Secret", "a", "{}"),
        item("ConfigMap", "b", "{x: old}"),
        item("ConfigMap", "a", "{}"),
        item("ConfigMap", "b", "{x: new}"),
    ];
    let answer = run("{}", &items.concat());
    let expect = [&items[2], &items[3], &items[0]]
        .map(String::as_str)
        .concat();
    let written = answer.stdout.split_once("items:\n").unwrap().1;
    assert_eq!(written, expect);
}

#[test]
fn other_configurations_are_refused() {
    let answer = run(
        "{apiVersion: v1, kind: Namespace}",
        "- {apiVersion: v1, kind: Pod, metadata: {name: x}}\n",
    );
    assert_eq!(answer.exit_code, 3);
    assert_eq!(
        answer.stderr,
        "Error: functionConfig expected to be of kind ConfigMap, instead got: Namespace\n"
    );
}
