//! The folders of hierarchies of all versions.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire::{self, ProgramOutput};

fn run(version: &str, items: &str) -> ProgramOutput {
    let input = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    wire::run(INFO.version(version).unwrap(), input.as_bytes(), &ctx).unwrap()
}

const TREE: &str = "\
- apiVersion: blueprints.cloud.google.com/v1alpha3
  kind: ResourceHierarchy
  metadata:
    name: h
    namespace: ns
    annotations:
      config.kubernetes.io/local-config: \"true\"
      owner: 'me'
  spec:
    parentRef: {kind: Folder, external: '7'}
    config:
    - Dev \"A\":
        $subtree: teams
    - 5
    subtrees:
      teams: [Team_1]
";

#[test]
fn a_tree_with_a_subtree() {
    let answer = run("latest", TREE);
    let expected = "\
- apiVersion: resourcemanager.cnrm.cloud.google.com/v1beta1
  kind: Folder
  metadata:
    name: dev-a
    annotations:
      owner: me
    namespace: ns
  spec:
    displayName: Dev \"A\"
    folderRef:
      external: '7'
- apiVersion: resourcemanager.cnrm.cloud.google.com/v1beta1
  kind: Folder
  metadata:
    name: dev-a.team-1
    annotations:
      owner: me
      config.kubernetes.io/depends-on: resourcemanager.cnrm.cloud.google.com/namespaces/ns/Folder/dev-a
    namespace: ns
  spec:
    displayName: Team_1
    folderRef:
      name: dev-a
";
    assert!(answer.stdout.ends_with(expected), "{}", answer.stdout);
    assert_eq!((answer.exit_code, answer.stderr.as_str()), (0, ""));
    let older = run("v0.1.1", TREE).stdout;
    assert!(!older.contains("depends-on"), "{older}");
}

#[test]
fn layers_and_their_warning() {
    let layers = "\
- apiVersion: cft.dev/v1alpha1
  kind: ResourceHierarchy
  metadata:
    name: h
  spec:
    organization: 12
    layers: [a, b]
    config:
      a: [X]
      b: [Y]
";
    let answer = run("latest", layers);
    for expected in [
        "    name: x\n    annotations:\n      cnrm.cloud.google.com/organization-id: '12'\n",
        "    name: x.y\n    annotations:\n      cnrm.cloud.google.com/folder-ref: x\n",
        "  severity: warn\n",
    ] {
        assert!(answer.stdout.contains(expected), "{}", answer.stdout);
    }
    assert_eq!(answer.exit_code, 0);
    let without = run("latest", &layers.replace("      b: [Y]\n", ""));
    assert_eq!(without.exit_code, 1);
    assert!(
        without
            .stdout
            .contains("has no corresponding entry config entry.")
    );
    assert!(!without.stdout.contains("kind: Folder"));
}

#[test]
fn what_is_wrong_with_a_tree() {
    for (old, new, code, problem) in [
        (
            "$subtree: teams",
            "$subtree: x",
            1,
            "references non-existent subtree \\\"x\\\"",
        ),
        (
            "kind: Folder,",
            "kind: Other,",
            1,
            "has an unsupported parentRef kind",
        ),
        (", external: '7'", "", 1, "has an undefined parentRef"),
    ] {
        let answer = run("latest", &TREE.replace(old, new));
        let problem = problem.replace("\\\"", "\"");
        assert!(answer.stdout.contains(&problem), "{}", answer.stdout);
        assert_eq!(answer.exit_code, code);
    }
    let thrown = run(
        "latest",
        &TREE.replace("{kind: Folder, external: '7'}", "null"),
    );
    assert_eq!(thrown.exit_code, 2);
    assert_eq!(
        thrown.stderr,
        "TypeError: Cannot read properties of null (reading 'external')\n"
    );
}

#[test]
fn folders_are_generated_again_in_their_place() {
    let once = run("latest", TREE).stdout;
    let (_, items) = once.split_once("items:\n").unwrap();
    assert_eq!(run("latest", items).stdout, once);
}
