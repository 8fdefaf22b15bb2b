//! Changed fields, and how JSON changes the others.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire::{self, ProgramOutput};

fn run(item: &str, config: &str) -> ProgramOutput {
    let lines: String = item.lines().map(|line| format!("  {line}\n")).collect();
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}functionConfig: {config}\n",
        lines.trim_start()
    );
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    wire::run(INFO.version("latest").unwrap(), input.as_bytes(), &ctx).unwrap()
}

const POD: &str = "\
kind: Pod # c
apiVersion: v1
metadata: {name: 'p'}
spec:
  uid: 1000660000
  ratio: 0.5
  on: 'yes'
  initContainers:
  - image: nginx:1
  containers:
  - image: nginx@sha256:a
  - image: other:1";

#[test]
fn images_change_and_the_rest_goes_through_json() {
    let answer = run(
        POD,
        "{kind: ConfigMap, apiVersion: v1, data: {name: nginx, newTag: '2'}}",
    );
    let expected = "\
- apiVersion: v1
  kind: Pod
  metadata:
    name: p
  spec:
    containers:
    - image: nginx:2
    - image: other:1
    initContainers:
    - image: nginx:2
    \"on\": \"yes\"
    ratio: 0.5
    uid: 1.00066e+09
";
    assert!(answer.stdout.contains(expected), "{}", answer.stdout);
    assert!(answer.stdout.contains("updated a total of 2 image(s)"));
    assert_eq!(answer.exit_code, 0);
}

#[test]
fn bad_configurations_are_reported() {
    for (config, message) in [
        ("{}", "invalid FunctionConfig: must specify `name`"),
        (
            "{kind: ConfigMap, apiVersion: v1, data: {name: a}}",
            "invalid FunctionConfig: must specify one of `newName`, `newTag`, or `digest`",
        ),
        (
            "{kind: ConfigMap, apiVersion: v1, data: {name: a, newTag: b, x: c}}",
            "ConfigMap has wrong field name x%!(EXTRA <nil>)",
        ),
        (
            "{kind: Other, apiVersion: a/v1}",
            "unknown FunctionConfig `Other.a`, expect `SetImage.fn.kpt.dev` or `ConfigMap.v1`",
        ),
        (
            "{kind: SetImage, apiVersion: fn.kpt.dev/v1alpha1, image: [a]}",
            "json: cannot unmarshal array into Go struct field SetImage.image of type types.Image",
        ),
    ] {
        let answer = run(POD, config);
        assert!(
            answer.stdout.contains(message),
            "{config}\n{}",
            answer.stdout
        );
        assert_eq!(answer.exit_code, 1);
    }
}
