//! The KRM check through the eyes of its caller; its rules are shown by recorded answers.

use super::{ListKind, NotKrm, check_list, check_resource};

#[test]
fn the_list_and_the_path_are_named() {
    let doc = kiln_yaml::parse(
        "kind: K\nmetadata:\n  annotations: {config.kubernetes.io/path: a/b.yaml}\n",
    )
    .unwrap()
    .unwrap();
    assert_eq!(check_resource(doc.root()), Err(NotKrm::ApiVersion));
    assert_eq!(
        check_list([doc.root()], ListKind::Input)
            .unwrap_err()
            .to_string(),
        "input resource list must contain only KRM resources: a/b.yaml: resource must have `apiVersion`"
    );
}
