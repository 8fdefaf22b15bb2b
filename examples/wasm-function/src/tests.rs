//! The function is tested like any other, without WebAssembly.

use super::set_owner;

#[test]
fn every_resource_gets_the_owner() {
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
                - kind: ConfigMap\n  metadata:\n    name: a\n\
                functionConfig:\n  data:\n    owner: shop\n";
    let output = set_owner(list.into()).unwrap();
    assert!(
        output.contains("annotations:\n      example.com/owner: 'shop'\n"),
        "{output}"
    );
    let no_owner = list.replace("owner", "other");
    assert_eq!(
        set_owner(no_owner.into()).unwrap_err(),
        "the functionConfig has no data.owner"
    );
}
