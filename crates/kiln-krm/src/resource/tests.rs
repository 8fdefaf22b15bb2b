//! Tests of the module above.

use super::*;

fn resource(text: &str) -> Resource {
    Resource::new(kiln_yaml::parse(text).unwrap().unwrap())
}

#[test]
fn what_a_resource_is_called() {
    let deployment = resource(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: n\n  namespace: s\n  labels: {a: b, c: ~}\n",
    );
    let id = deployment.id();
    assert_eq!(
        (id.gvk.group.as_str(), id.gvk.version.as_str()),
        ("apps", "v1")
    );
    assert_eq!(
        (
            id.gvk.kind.as_str(),
            id.namespace.as_str(),
            id.name.as_str()
        ),
        ("Deployment", "s", "n")
    );
    assert_eq!(deployment.label("a"), Some("b"));
    assert_eq!(deployment.label("c"), Some(""));
    assert_eq!(deployment.label("d"), None);
    let service = resource("apiVersion: v1\nkind: Service\n");
    assert_eq!(
        (service.gvk().group, service.gvk().version),
        (String::new(), "v1".to_owned())
    );
    let nothing = resource("x: 1\n");
    assert_eq!(
        (
            nothing.kind(),
            nothing.name(),
            nothing.annotations().count()
        ),
        ("", "", 0)
    );
}

#[test]
fn labels_and_annotations_are_quoted_when_new() {
    let mut resource = resource("metadata:\n  labels:\n    a: b # c\n");
    resource.set_label("a", "1").unwrap();
    resource.set_label("x", "y").unwrap();
    resource.set_annotation("k", "v").unwrap();
    let text = kiln_yaml::to_string(resource.document(), kiln_yaml::SequenceStyle::Compact);
    assert_eq!(
        text,
        "metadata:\n  labels:\n    a: \"1\"\n    x: 'y'\n  annotations:\n    k: 'v'\n"
    );
    resource.clear_annotations(&["k"]).unwrap();
    let text = kiln_yaml::to_string(resource.document(), kiln_yaml::SequenceStyle::Compact);
    assert_eq!(text, "metadata:\n  labels:\n    a: \"1\"\n    x: 'y'\n");
}

#[test]
fn a_scalar_has_no_annotations() {
    let error = resource("foo\n").set_annotation("a", "b").unwrap_err();
    assert_eq!(
        error.to_string(),
        "wrong node kind: expected MappingNode but got ScalarNode: node contents:\nfoo\n"
    );
}
