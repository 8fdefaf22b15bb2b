//! Declarations in all their places, and broken ones.

use super::{Declared, declared_function};
use crate::resource::Resource;

fn declared(metadata: &str) -> Option<Declared> {
    let text = format!("apiVersion: v1\nkind: Fn\nmetadata:\n  name: f\n{metadata}");
    let document = kiln_yaml::parse(&text).unwrap().unwrap();
    declared_function(&Resource::new(document))
}

#[track_caller]
fn check_image(metadata: &str, image: &str) {
    let declared = declared(metadata).unwrap();
    assert_eq!(declared.declaration.container.image, image);
    assert_eq!(declared.problem, None);
}

#[test]
fn the_first_place_that_says_something_counts() {
    let new = "    config.kubernetes.io/function: 'container: {image: new}'\n";
    let old = "    config.k8s.io/function: 'container: {image: old}'\n";
    let oldest = "    config.kubernetes.io/container: oldest\n";
    let field = "  configFn:\n    container:\n      image: field\n";
    check_image(&format!("{field}  annotations:\n{oldest}{old}{new}"), "new");
    check_image(&format!("{field}  annotations:\n{oldest}{old}"), "old");
    check_image(&format!("{field}  annotations:\n{oldest}"), "field");
    check_image(&format!("  annotations:\n{oldest}"), "oldest");
    assert_eq!(declared(""), None);
    assert_eq!(
        declared("  annotations: {config.kubernetes.io/function: ''}\n"),
        None
    );
}

#[test]
fn valid_parts_count_and_others_are_reported() {
    let text = "  annotations:\n    config.kubernetes.io/function: |\n      \
                exec: ./fn.sh\n      deferFailure: yes\n      container: {image: i, network: true, x: y}\n";
    let declared = declared(text).unwrap();
    let problem = "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `./fn.sh` into runtimeutil.ExecSpec";
    assert_eq!(declared.problem.as_deref(), Some(problem));
    let declaration = declared.declaration;
    assert!(declaration.defer_failure && declaration.container.network);
    assert_eq!(
        (
            declaration.container.image.as_str(),
            declaration.exec.path.as_str()
        ),
        ("i", "")
    );
}

#[test]
fn what_is_not_yaml_declares_nothing() {
    let declared =
        declared("  annotations: {config.kubernetes.io/function: 'exec: {path: a b'}\n").unwrap();
    assert_eq!(declared.declaration, super::Declaration::default());
    let problem = declared.problem.unwrap();
    assert_eq!(problem, "yaml: line 1: did not find expected ',' or '}'");
}
