//! Templates from Porch's documentation, and invalid ones.

use serde_json::json;

use super::*;

/// From Porch's documentation.
const POD: &str = "
apiVersion: v1
kind: Pod
metadata:
  annotations:
    cluster-autoscaler.kubernetes.io/safe-to-evict: \"true\"
spec:
  someNewField: [1, 2]
  initContainers:
    - name: copy-wrapper-server
      image: docker.io/nephio/porch-wrapper-server:latest
      command: [cp, -a, /home/nonroot/wrapper-server/., /wrapper-server-tools]
  containers:
    - name: function
      image: to-be-replaced
      command:
        - /wrapper-server-tools/wrapper-server
";

const SERVICE: &str = "
apiVersion: v1
kind: Service
spec:
  type: ClusterIP
  ports: [{port: 9446, protocol: TCP, targetPort: 9446}]
  selector:
    fn.kpt.dev/image: to-be-replaced
";

fn from(pod: &str, service: &str) -> Result<Templates, PodTemplateError> {
    let data = json!({"template": pod, "serviceTemplate": service});
    Templates::from_config_map("my-template", data.as_object().unwrap(), "42")
}

#[test]
fn a_config_map_contains_both_templates() {
    let templates = from(POD, SERVICE).unwrap();
    assert_eq!(templates.version(), "42");
    assert_eq!(templates.pod["spec"]["someNewField"], json!([1, 2]));
    assert_eq!(templates.service["spec"]["type"], "ClusterIP");
    assert!(!templates.sets_wrapper_image);
}

#[track_caller]
fn check_error(pod: &str, service: &str, expected: &str) {
    let error = from(pod, service).unwrap_err().to_string();
    assert!(error.contains("ConfigMap \"my-template\""), "{error}");
    assert!(error.contains(expected), "{error}");
}

#[test]
fn errors_name_the_config_map_and_the_key() {
    check_error(
        "a: [",
        SERVICE,
        "\"template\" of ConfigMap \"my-template\" is not YAML: ",
    );
    check_error("", SERVICE, "is not a Pod: it is not a mapping");
    check_error(
        "kind: Deployment",
        SERVICE,
        "is not a Pod: its kind is \"Deployment\"",
    );
    check_error(
        "spec: 1",
        SERVICE,
        "is not a Pod: its spec is not a mapping",
    );
    check_error(
        "metadata: {labels: [a]}",
        SERVICE,
        "its metadata.labels is not a mapping",
    );
    check_error(
        "spec: {containers: [{name: main}]}",
        SERVICE,
        "no container named \"function\"",
    );
    check_error(
        "spec: {containers: {name: function}}",
        SERVICE,
        "no container named \"function\"",
    );
    check_error(
        POD,
        "[]",
        "\"serviceTemplate\" of ConfigMap \"my-template\" is not a Service",
    );
    let data = json!({"template": POD});
    let missing = Templates::from_config_map("my-template", data.as_object().unwrap(), "1");
    let missing = missing.unwrap_err().to_string();
    assert!(
        missing.starts_with("ConfigMap \"my-template\" has no key \"serviceTemplate\""),
        "{missing}"
    );
}

#[test]
fn objects_of_newer_porch_replace_the_builtin_templates() {
    let builtin = Templates::from_objects(None, None).unwrap();
    assert_eq!(builtin, Templates::builtin());
    let pod_template = json!({"template": {"spec": {"containers": [{"name": "function"}]}}});
    let service_template = json!({"template": {"metadata": {"annotations": {"a": "b"}}, "spec": {"type": "ClusterIP"}}});
    let templates =
        Templates::from_objects(Some((&pod_template, "5")), Some((&service_template, "9")))
            .unwrap();
    assert_eq!(templates.version(), "5-9");
    assert!(templates.sets_wrapper_image);
    assert_eq!(templates.service["metadata"]["annotations"]["a"], "b");
    let bad = Templates::from_objects(Some((&json!({}), "5")), None).unwrap_err();
    assert!(
        bad.to_string()
            .contains("PodTemplate \"base-pod-template\""),
        "{bad}"
    );
}

#[test]
fn the_builtin_pod_has_few_permissions() {
    let templates = Templates::builtin();
    let spec = &templates.pod["spec"];
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["securityContext"]["runAsUser"], 65534);
    assert_eq!(
        spec["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    let init = spec["initContainers"].as_array().unwrap();
    let main = spec["containers"].as_array().unwrap();
    for container in init.iter().chain(main) {
        let rights = &container["securityContext"];
        assert_eq!(rights["readOnlyRootFilesystem"], true);
        assert_eq!(rights["allowPrivilegeEscalation"], false);
        assert_eq!(rights["capabilities"], json!({"drop": ["ALL"]}));
        for kind in ["requests", "limits"] {
            let resources = &container["resources"][kind];
            assert!(resources["cpu"].is_string() && resources["memory"].is_string());
        }
    }
}
