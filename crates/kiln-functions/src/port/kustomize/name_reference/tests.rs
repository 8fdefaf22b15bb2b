//! Which of several resources a name refers to.

use kiln_krm::Resource;

use super::{History, KustomizeRelease, fix_references, overwrite_scalar};

const RELEASE: KustomizeRelease = KustomizeRelease::Api0_10;

/// Renames all resources from `x` to `p-x`, updates references, and returns the text of the first resource.
fn fixed(texts: &[&str]) -> String {
    let parse = |text: &&str| Resource::new(kiln_yaml::parse(text).unwrap().unwrap());
    let mut items: Vec<Resource> = texts.iter().map(parse).collect();
    for resource in &mut items {
        let mut history = History::of(resource, RELEASE);
        history.note_id();
        history.note_prefix("p-");
        let name = format!("p-{}", resource.name());
        let metadata = resource.root().get("metadata").unwrap();
        let node = metadata.get("name").unwrap().id();
        overwrite_scalar(resource.document_mut(), node, &name);
    }
    fix_references(&mut items, RELEASE).unwrap();
    for resource in &mut items {
        History::of(resource, RELEASE).forget();
    }
    let style = kiln_yaml::SequenceStyle::Compact;
    kiln_yaml::to_string(items[0].document(), style)
}

fn account(namespace: &str) -> String {
    format!("apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a, namespace: {namespace}}}\n")
}

#[test]
fn pods_name_what_is_in_their_namespace() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: one}\nspec: {serviceAccountName: a, volumes: [{configMap: {name: a}}]}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: two}\n";
    let text = fixed(&[pod, &account("one"), map]);
    assert!(text.contains("serviceAccountName: p-a, volumes: [{configMap: {name: a}}]"));
    let text = fixed(&[pod, &account("two")]);
    assert!(text.contains("serviceAccountName: a,"), "{text}");
}

#[test]
fn bindings_reach_accounts_of_other_namespaces() {
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x, namespace: one}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}\nsubjects:\n- {kind: ServiceAccount, name: a, namespace: two}\n- {kind: ServiceAccount, name: a, namespace: three}\n";
    let role = |kind: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: a, namespace: one}}\n"
        )
    };
    let text = fixed(&[binding, &account("two"), &role("Role")]);
    assert!(text.contains("name: p-a, namespace: two"), "{text}");
    assert!(text.contains("name: a, namespace: three"), "{text}");
    assert!(text.contains("kind: Role, name: p-a"), "{text}");
    let text = fixed(&[binding, &account("two"), &role("ClusterRole")]);
    assert!(text.contains("kind: Role, name: a}"), "{text}");
}

#[test]
fn a_path_that_leads_into_a_text_is_an_error() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: none\n";
    let resource = Resource::new(kiln_yaml::parse(text).unwrap().unwrap());
    let error = fix_references(&mut [resource], RELEASE).unwrap_err();
    assert!(
        error.to_string().starts_with(
            "updating name reference in 'spec/volumes/configMap/name' field of '~G_v1_Pod|~X|x': considering field"
        ),
        "{error}"
    );
}
