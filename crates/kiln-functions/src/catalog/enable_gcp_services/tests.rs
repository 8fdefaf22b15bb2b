//! Sets and the resources generated from them: no other resource changes, and resources are lost only where the
//! original loses them.

use kiln_krm::{Resource, Wrapper, write_list};
use kiln_runtime::RunContext;

use crate::function::{Context, Ending, FunctionList, NoFiles};
use crate::registry::Registry;

const SET: &str = "\
apiVersion: blueprints.cloud.google.com/v1alpha1
kind: ProjectServiceSet
metadata:
  name: set
  annotations:
    internal.config.kubernetes.io/path: 'team/set.yaml'
    kept: \"1\"
";

fn resource(text: &str) -> Resource {
    Resource::new(kiln_yaml::parse(text).unwrap().unwrap())
}

fn run(items: &[&str]) -> (FunctionList, Ending) {
    let mut list = FunctionList {
        items: items.iter().map(|text| resource(text)).collect(),
        ..FunctionList::default()
    };
    let ctx = Context {
        environment: &[],
        run: &RunContext::default(),
        files: &NoFiles,
    };
    let version = Registry::builtin()
        .find_image("enable-gcp-services")
        .unwrap();
    let ending = version.function.run(&mut list, &ctx);
    (list, ending)
}

#[track_caller]
fn check_error(spec: &str, error: &str) -> FunctionList {
    let (list, ending) = run(&[&format!("{SET}{spec}")]);
    assert_eq!(ending, Ending::Error(error.to_owned()), "{spec}");
    let message = format!("failed to add services: {error}");
    assert_eq!(list.results.len(), 1);
    assert_eq!(list.results[0].message, message);
    list
}

#[test]
fn services_are_generated_beside_their_set() {
    let other = "kind: Other # mine\nmetadata: {name: other}\n";
    let (list, ending) = run(&[
        &format!("{SET}spec: {{services: [a.b.c, x.y.z], projectID: '7'}}"),
        other,
    ]);
    assert_eq!(ending, Ending::Success);
    let written = write_list(
        &Wrapper::resource_list(kiln_krm::Dialect::Current),
        &list.items[2..3],
        None,
        None,
    );
    let expected = "\
- apiVersion: serviceusage.cnrm.cloud.google.com/v1beta1
  kind: Service
  metadata:
    name: set-a
    annotations:
      kept: '1'
      blueprints.cloud.google.com/ownerReference: 'blueprints.cloud.google.com/ProjectServiceSet/set'
      internal.config.kubernetes.io/path: 'team/service_set-a.yaml'
  spec:
    resourceID: a.b.c
    projectRef:
      external: \"7\"
";
    assert!(written.ends_with(expected), "{written}");
    assert_eq!(list.unsettled, [2, 3]);
    assert!(list.items[1].document().is_unchanged());
}

#[test]
fn what_is_not_listed_any_more_goes() {
    let owned = |name: &str, owner: &str| {
        format!(
            "kind: Service\nmetadata:\n  name: {name}\n  annotations:\n    \
             blueprints.cloud.google.com/ownerReference: blueprints.cloud.google.com/ProjectServiceSet/{owner}\n"
        )
    };
    let set = format!("{SET}spec: {{services: [a.b.c]}}");
    let (list, _) = run(&[&owned("old", "set"), &set, &owned("else", "other")]);
    let names: Vec<&str> = list.items.iter().map(Resource::name).collect();
    assert_eq!(names, ["set", "else", "set-a"]);
    let messages: Vec<&str> = list.results.iter().map(|it| &*it.message).collect();
    assert_eq!(messages, ["pruned service", "generated service"]);
}

#[test]
fn bad_sets_are_refused_in_the_original_words() {
    let nothing = "at least one service must be specified under `spec.services[]`";
    for spec in [
        "",
        "spec: {}",
        "spec: {services: []}",
        "spec: {services: [null]}",
    ] {
        let list = check_error(spec, nothing);
        assert_eq!(list.items.len(), 1);
    }
    let list = check_error(
        "spec: {services: [a.b.c, a.b]}",
        "invalid service specified: a.b",
    );
    assert!(list.items.is_empty());
    check_error(
        "spec: {services: a}",
        "yaml: unmarshal errors:\n  line 11: cannot unmarshal !!str `a` into []string",
    );
}

#[test]
fn without_sets_nothing_happens() {
    let (list, ending) = run(&["kind: Service\nmetadata: {name: a}\n"]);
    assert_eq!(ending, Ending::Success);
    assert!(list.results.is_empty() && list.items[0].document().is_unchanged());
}
