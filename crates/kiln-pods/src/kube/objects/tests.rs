//! Pods and services as they are created.

use super::*;

fn settings() -> PodSettings {
    PodSettings {
        namespace: "fns".to_owned(),
        wrapper_image: "wrapper:1".to_owned(),
        max_message_size: 1000,
    }
}

fn make(templates: &Templates, overrides: &Overrides, pull_secret: Option<&str>) -> Value {
    let command = ["/fn".to_owned(), "$(HOME) $$ $x".to_owned()];
    let plan = PodParams {
        name: "fn-v1-1-x",
        replica: "runner/a",
        function: "ghcr.io/a/fn:v1",
        image: "ghcr.io/a/fn@sha256:0",
        digest: "sha256:0",
        command: &command,
        overrides,
        pull_secret,
        reclaim_after: 1234,
    };
    pod(templates, &settings(), &plan)
}

fn templates(pod: Value) -> Templates {
    let yaml = pod.to_string();
    let data = json!({"template": yaml, "serviceTemplate": "spec: {selector: {a: b}}"});
    Templates::from_config_map("t", data.as_object().unwrap(), "42").unwrap()
}

#[test]
fn a_pod_of_the_builtin_template() {
    let pod = make(&Templates::builtin(), &Overrides::default(), None);
    assert_eq!(pod["kind"], "Pod");
    assert_eq!(pod["metadata"]["name"], "fn-v1-1-x");
    assert_eq!(pod["metadata"]["namespace"], "fns");
    assert_eq!(pod["metadata"]["labels"][IMAGE_LABEL], "fn-v1-1-x");
    assert_eq!(
        pod["metadata"]["labels"][REPLICA_LABEL],
        label_value("runner/a")
    );
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(
        annotations[TEMPLATE_VERSION],
        Templates::builtin().version()
    );
    assert_eq!(annotations[FUNCTION_ANNOTATION], "ghcr.io/a/fn:v1");
    assert_eq!(annotations[DIGEST_ANNOTATION], "sha256:0");
    assert_eq!(annotations[RECLAIM_AFTER], "1234");
    assert_eq!(
        annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"],
        "true"
    );
    assert_eq!(pod["spec"]["initContainers"][0]["image"], "wrapper:1");
    let function = &pod["spec"]["containers"][0];
    assert_eq!(function["image"], "ghcr.io/a/fn@sha256:0");
    assert_eq!(
        function["args"],
        json!([
            "--port",
            "9446",
            "--max-request-body-size",
            "1000",
            "--",
            "/fn",
            "$$(HOME) $$$$ $$x"
        ])
    );
    assert_eq!(pod["spec"]["imagePullSecrets"], Value::Null);
}

#[test]
fn a_pod_of_a_given_template_keeps_its_fields() {
    let templates = templates(json!({
        "metadata": {"labels": {"team": "a"}, "generateName": "x-"},
        "spec": {
            "imagePullSecrets": [{"name": "auth"}],
            "initContainers": [{"name": "copy-wrapper-server", "image": "theirs"}, {"name": "other"}],
            "containers": [
                {"name": "sidecar", "image": "s"},
                {"name": "function", "image": "to-be-replaced", "args": ["--first"]},
            ],
        },
    }));
    let pod = make(&templates, &Overrides::default(), Some("auth"));
    assert_eq!(pod["metadata"]["labels"]["team"], "a");
    assert_eq!(pod["metadata"]["generateName"], Value::Null);
    assert_eq!(pod["metadata"]["annotations"][TEMPLATE_VERSION], "42");
    assert_eq!(pod["spec"]["initContainers"][0]["image"], "theirs");
    assert_eq!(pod["spec"]["initContainers"][1], json!({"name": "other"}));
    assert_eq!(
        pod["spec"]["containers"][0],
        json!({"name": "sidecar", "image": "s"})
    );
    assert_eq!(pod["spec"]["containers"][1]["args"][0], "--first");
    assert_eq!(pod["spec"]["containers"][1]["args"][1], "--port");
    assert_eq!(pod["spec"]["imagePullSecrets"], json!([{"name": "auth"}]));
    let with_other = make(&templates, &Overrides::default(), Some("b"));
    assert_eq!(
        with_other["spec"]["imagePullSecrets"],
        json!([{"name": "auth"}, {"name": "b"}])
    );
}

#[test]
fn overrides_replace_parts_of_the_template() {
    let overrides: Overrides = serde_json::from_value(json!({
        "serviceAccountName": "special",
        "securityContext": {"runAsUser": 7},
        "initContainer": {"env": [{"name": "A", "value": "b"}]},
        "container": {
            "resources": {"limits": {"memory": "2Gi"}},
            "envFrom": [{"configMapRef": {"name": "c"}}],
        },
    }))
    .unwrap();
    let pod = make(&Templates::builtin(), &overrides, None);
    let spec = &pod["spec"];
    assert_eq!(spec["serviceAccountName"], "special");
    assert_eq!(spec["securityContext"], json!({"runAsUser": 7}));
    assert_eq!(spec["initContainers"][0]["env"][0]["name"], "A");
    let function = &spec["containers"][0];
    assert_eq!(function["resources"]["limits"], json!({"memory": "2Gi"}));
    assert!(function["resources"]["requests"]["cpu"].is_string());
    assert_eq!(function["envFrom"][0]["configMapRef"]["name"], "c");
    assert_eq!(function["env"][0]["name"], "HOME");
}

#[test]
fn a_service_belongs_to_its_pod() {
    let templates = templates(json!({"spec": {"containers": [{"name": "function"}]}}));
    let service = service(&templates, &settings(), "fn-v1-1-x", "r", "uid-1");
    assert_eq!(service["kind"], "Service");
    assert_eq!(service["metadata"]["name"], "fn-v1-1-x");
    assert_eq!(
        service["metadata"]["labels"][SERVICE_NAME_LABEL],
        "fn-v1-1-x"
    );
    assert_eq!(service["metadata"]["labels"][REPLICA_LABEL], "r");
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], "uid-1");
    assert_eq!(
        service["spec"]["selector"],
        json!({"a": "b", IMAGE_LABEL: "fn-v1-1-x"})
    );
    assert_eq!(service["spec"]["ports"][0]["port"], 9446);
}

#[test]
fn versions_differ_if_pods_differ() {
    let base = settings_version(&settings(), &Overrides::default(), None);
    let mut larger = settings();
    larger.max_message_size += 1;
    let overrides = Overrides {
        service_account_name: Some("s".to_owned()),
        ..Overrides::default()
    };
    let others = [
        settings_version(&larger, &Overrides::default(), None),
        settings_version(&settings(), &overrides, None),
        settings_version(&settings(), &Overrides::default(), Some("auth")),
    ];
    assert!(!others.contains(&base), "{base} {others:?}");
    assert_eq!(
        base,
        settings_version(&settings(), &Overrides::default(), None)
    );
}
