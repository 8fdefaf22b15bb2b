//! Lists as text and as trees.

use kiln_krm::Dialect;

use super::Input;

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {kind: A, metadata: {name: a}}
functionConfig:
  kind: C
";

#[test]
fn text_is_passed_on_unchanged_and_can_be_parsed() {
    let input = Input::from_wire(Dialect::Current, LIST);
    assert_eq!(input.wire(), LIST);
    assert_eq!(input.items().len(), 1);
    let config = input.function_config().expect("a configuration");
    assert_eq!(
        config.root().get("kind").map(|kind| kind.value()),
        Some("C")
    );
    input.check().expect("a readable list");
}

#[test]
fn malformed_text_has_no_resources() {
    let input = Input::from_wire(Dialect::Current, "a: [");
    assert!(input.items().is_empty() && input.function_config().is_none());
    let error = input.check().expect_err("no YAML").to_string();
    assert!(
        error.starts_with("MalformedYAMLError: yaml: line "),
        "{error}"
    );
}
