//! The objects that are created in the cluster: pods, services, secrets.
//!
//! Pure functions. A pod is its template with image, arguments, names and overrides filled in.

use serde_json::{Map, Value, json};

use crate::config::overrides::Overrides;
use crate::config::template::{FUNCTION_CONTAINER, Templates, WRAPPER_CONTAINER, name_of};
use crate::kube::names::{
    DIGEST_ANNOTATION, FIELD_MANAGER, FUNCTION_ANNOTATION, IMAGE_LABEL, MANAGED_BY_LABEL,
    RECLAIM_AFTER, REPLICA_LABEL, SERVICE_NAME_LABEL, SETTINGS_VERSION, TEMPLATE_VERSION,
    WRAPPER_PORT,
};
use crate::kube::names::{fingerprint, label_value};

/// Settings that all pods share.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PodSettings {
    pub(crate) namespace: String,
    /// The image that contains the wrapper server.
    pub(crate) wrapper_image: String,
    /// Maximum size of a message in bytes.
    pub(crate) max_message_size: usize,
}

/// The parameters of one pod.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PodParams<'a> {
    /// The name of the pod and of its service.
    pub(crate) name: &'a str,
    pub(crate) replica: &'a str,
    /// The image as requested by callers.
    pub(crate) function: &'a str,
    /// The image with its digest.
    pub(crate) image: &'a str,
    pub(crate) digest: &'a str,
    /// The entrypoint and command of the image.
    pub(crate) command: &'a [String],
    pub(crate) overrides: &'a Overrides,
    pub(crate) pull_secret: Option<&'a str>,
    /// When it may be deleted, in Unix seconds.
    pub(crate) reclaim_after: u64,
}

/// A fingerprint of all settings of a pod except template and image.
pub(crate) fn settings_version(
    settings: &PodSettings,
    overrides: &Overrides,
    pull_secret: Option<&str>,
) -> String {
    let size = settings.max_message_size.to_string();
    let overrides = overrides.text();
    let pull_secret = pull_secret.unwrap_or_default();
    fingerprint(
        &[&settings.wrapper_image, &size, &overrides, pull_secret],
        12,
    )
}

pub(crate) fn pod(templates: &Templates, settings: &PodSettings, plan: &PodParams<'_>) -> Value {
    let mut pod = templates.pod.clone();
    let metadata = part(&mut pod, "metadata");
    metadata.remove("generateName");
    set_names(metadata, settings, plan.name, plan.replica);
    let labels = part(metadata, "labels");
    labels.insert(IMAGE_LABEL.to_owned(), plan.name.into());
    let settings_version = settings_version(settings, plan.overrides, plan.pull_secret);
    let annotations = part(metadata, "annotations");
    for (key, value) in [
        (TEMPLATE_VERSION, templates.version.as_str()),
        (SETTINGS_VERSION, &settings_version),
        (FUNCTION_ANNOTATION, plan.function),
        (DIGEST_ANNOTATION, plan.digest),
        (RECLAIM_AFTER, &plan.reclaim_after.to_string()),
    ] {
        annotations.insert(key.to_owned(), value.into());
    }
    let spec = part(&mut pod, "spec");
    for container in containers(spec, "initContainers") {
        let is_ours = name_of_map(container) == Some(WRAPPER_CONTAINER);
        let lacks_image = !container.contains_key("image");
        if is_ours && (templates.sets_wrapper_image || lacks_image) {
            container.insert("image".to_owned(), settings.wrapper_image.as_str().into());
        }
    }
    for container in containers(spec, "containers") {
        if name_of_map(container) == Some(FUNCTION_CONTAINER) {
            set_function(container, settings, plan);
        }
    }
    plan.overrides.apply(spec);
    if let Some(secret) = plan.pull_secret {
        let secrets = list(spec, "imagePullSecrets");
        if !secrets.iter().any(|given| name_of(given) == Some(secret)) {
            secrets.push(json!({"name": secret}));
        }
    }
    finished(pod, "Pod")
}

/// The service of a pod. It is owned by the pod with the UID `owner` and deleted with it.
pub(crate) fn service(
    templates: &Templates,
    settings: &PodSettings,
    name: &str,
    replica: &str,
    owner: &str,
) -> Value {
    let mut service = templates.service.clone();
    let metadata = part(&mut service, "metadata");
    metadata.remove("generateName");
    set_names(metadata, settings, name, replica);
    let labels = part(metadata, "labels");
    labels.insert(SERVICE_NAME_LABEL.to_owned(), name.into());
    labels.insert(IMAGE_LABEL.to_owned(), name.into());
    metadata.insert(
        "ownerReferences".to_owned(),
        json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": owner}]),
    );
    let spec = part(&mut service, "spec");
    part(spec, "selector").insert(IMAGE_LABEL.to_owned(), name.into());
    let ports = list(spec, "ports");
    if ports.is_empty() {
        ports.push(json!({"port": WRAPPER_PORT, "protocol": "TCP", "targetPort": WRAPPER_PORT}));
    }
    finished(service, "Service")
}

/// The pull secret; `config_base64` is an encoded Docker config file.
pub(crate) fn pull_secret(namespace: &str, name: &str, config_base64: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": {MANAGED_BY_LABEL: FIELD_MANAGER}},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": config_base64},
    })
}

fn set_function(container: &mut Map<String, Value>, settings: &PodSettings, plan: &PodParams<'_>) {
    container.insert("image".to_owned(), plan.image.into());
    let size = settings.max_message_size.to_string();
    let port = WRAPPER_PORT.to_string();
    let flags = ["--port", &port, "--max-request-body-size", &size, "--"];
    let args = list(container, "args");
    args.extend(flags.map(Value::from));
    args.extend(plan.command.iter().map(|word| Value::from(escaped(word))));
}

/// Kubernetes expands `$(NAME)` in arguments; `$$` is a literal `$`.
fn escaped(word: &str) -> String {
    word.replace('$', "$$")
}

fn set_names(metadata: &mut Map<String, Value>, settings: &PodSettings, name: &str, replica: &str) {
    metadata.insert("name".to_owned(), name.into());
    metadata.insert("namespace".to_owned(), settings.namespace.as_str().into());
    let labels = part(metadata, "labels");
    labels.insert(REPLICA_LABEL.to_owned(), label_value(replica).into());
}

fn finished(mut object: Map<String, Value>, kind: &str) -> Value {
    object.insert("apiVersion".to_owned(), "v1".into());
    object.insert("kind".to_owned(), kind.into());
    Value::Object(object)
}

/// A mapping field; created if missing.
pub(crate) fn part<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = map
        .entry(field)
        .or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(part) => part,
        _ => unreachable!("replaced by this type above"),
    }
}

/// A list field; created if missing.
fn list<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Vec<Value> {
    let value = map.entry(field).or_insert_with(|| Value::Array(Vec::new()));
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("replaced by this type above"),
    }
}

/// The containers of a pod that are mappings.
pub(crate) fn containers<'a>(
    spec: &'a mut Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let containers = spec.get_mut(field).and_then(Value::as_array_mut);
    let containers = containers.into_iter().flatten();
    containers.filter_map(Value::as_object_mut)
}

pub(crate) fn name_of_map(container: &Map<String, Value>) -> Option<&str> {
    container.get("name").and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
