//! Templates of pods and services: built in, or provided by the cluster operator.
//!
//! A template is kept as JSON, so that fields that this program does not know reach Kubernetes. It is validated when it
//! is read, not when a pod is created: [`Templates`] always has a container named `function`.

mod builtin;

use serde_json::{Map, Value};

/// The container that runs the function.
pub(crate) const FUNCTION_CONTAINER: &str = "function";

/// The init container that copies the wrapper server.
pub(crate) const WRAPPER_CONTAINER: &str = "copy-wrapper-server";

const POD_KEY: &str = "template";

const SERVICE_KEY: &str = "serviceTemplate";

/// Name of the PodTemplate that newer versions of Porch use.
pub(crate) const BASE_POD_TEMPLATE: &str = "base-pod-template";

/// Name of the ServiceTemplate that newer versions of Porch use.
pub(crate) const BASE_SERVICE_TEMPLATE: &str = "base-service-template";

/// A pod and a service without image, names and arguments.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Templates {
    /// `metadata` and `spec` of a pod.
    pub(crate) pod: Map<String, Value>,
    /// `metadata` and `spec` of a service.
    pub(crate) service: Map<String, Value>,
    /// The template version: changes with every change of a template.
    pub(crate) version: String,
    /// Whether the wrapper image of the options replaces that of the template.
    pub(crate) sets_wrapper_image: bool,
}

/// Why a template is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum PodTemplateError {
    #[error(
        "{source_name} has no key \"{key}\"; it needs \"template\" (a Pod) and \"serviceTemplate\" (a Service)"
    )]
    MissingKey {
        source_name: String,
        key: &'static str,
    },
    #[error("\"{key}\" of {source_name} is not YAML: {reason}")]
    Yaml {
        source_name: String,
        key: &'static str,
        reason: String,
    },
    #[error("\"{key}\" of {source_name} is not a {kind}: {reason}")]
    Kind {
        source_name: String,
        key: &'static str,
        kind: &'static str,
        reason: String,
    },
    #[error("\"{key}\" of {source_name} has no container named \"function\"")]
    NoFunctionContainer {
        source_name: String,
        key: &'static str,
    },
}

impl Templates {
    pub(crate) fn builtin() -> Templates {
        Templates {
            pod: builtin::pod(),
            service: builtin::service(),
            version: builtin::VERSION.to_owned(),
            sets_wrapper_image: true,
        }
    }

    /// Parses the ConfigMap that `--function-pod-template` names.
    pub(crate) fn from_config_map(
        name: &str,
        data: &Map<String, Value>,
        resource_version: &str,
    ) -> Result<Templates, PodTemplateError> {
        let source = TemplateOrigin(format!("ConfigMap \"{name}\""));
        Ok(Templates {
            pod: source.pod(POD_KEY, source.yaml(POD_KEY, data)?)?,
            service: source.service(SERVICE_KEY, source.yaml(SERVICE_KEY, data)?)?,
            version: resource_version.to_owned(),
            sets_wrapper_image: false,
        })
    }

    /// Parses the objects of newer versions of Porch, each with its resource version. A missing one is replaced by the
    /// built-in template.
    pub(crate) fn from_objects(
        pod_template: Option<(&Value, &str)>,
        service_template: Option<(&Value, &str)>,
    ) -> Result<Templates, PodTemplateError> {
        let mut templates = Templates::builtin();
        let mut versions = Vec::new();
        if let Some((object, version)) = pod_template {
            let source = TemplateOrigin(format!("PodTemplate \"{BASE_POD_TEMPLATE}\""));
            templates.pod = source.pod(POD_KEY, template_of(object))?;
            versions.push(version);
        }
        if let Some((object, version)) = service_template {
            let source = TemplateOrigin(format!("ServiceTemplate \"{BASE_SERVICE_TEMPLATE}\""));
            templates.service = source.service(POD_KEY, template_of(object))?;
            versions.push(version);
        }
        if !versions.is_empty() {
            templates.version = versions.join("-");
        }
        Ok(templates)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }
}

fn template_of(object: &Value) -> Value {
    object.get("template").cloned().unwrap_or_default()
}

/// Where a template comes from, for error messages.
struct TemplateOrigin(String);

impl TemplateOrigin {
    fn yaml(
        &self,
        key: &'static str,
        data: &Map<String, Value>,
    ) -> Result<Value, PodTemplateError> {
        let text = data.get(key).and_then(Value::as_str);
        let text = text.ok_or_else(|| PodTemplateError::MissingKey {
            source_name: self.0.clone(),
            key,
        })?;
        crate::config::read_yaml(text).map_err(|reason| PodTemplateError::Yaml {
            source_name: self.0.clone(),
            key,
            reason,
        })
    }

    fn pod(&self, key: &'static str, value: Value) -> Result<Map<String, Value>, PodTemplateError> {
        let pod = self.object(key, "Pod", value)?;
        let containers = pod.get("spec").and_then(|spec| spec.get("containers"));
        let containers = containers.and_then(Value::as_array);
        let has_function = containers.is_some_and(|containers| {
            let is_function = |container: &Value| name_of(container) == Some(FUNCTION_CONTAINER);
            containers.iter().any(is_function)
        });
        match has_function {
            true => Ok(pod),
            false => Err(PodTemplateError::NoFunctionContainer {
                source_name: self.0.clone(),
                key,
            }),
        }
    }

    fn service(
        &self,
        key: &'static str,
        value: Value,
    ) -> Result<Map<String, Value>, PodTemplateError> {
        self.object(key, "Service", value)
    }

    /// Validates that `metadata` and `spec` are mappings, and drops all other fields.
    fn object(
        &self,
        key: &'static str,
        kind: &'static str,
        value: Value,
    ) -> Result<Map<String, Value>, PodTemplateError> {
        let wrong = |reason: String| PodTemplateError::Kind {
            source_name: self.0.clone(),
            key,
            kind,
            reason,
        };
        let Value::Object(mut object) = value else {
            return Err(wrong("it is not a mapping".to_owned()));
        };
        if let Some(given) = object.get("kind")
            && given != kind
        {
            return Err(wrong(format!("its kind is {given}")));
        }
        let mut kept = Map::new();
        for (field, inner_fields) in [
            ("metadata", ["labels", "annotations"].as_slice()),
            ("spec", ["selector", "securityContext"].as_slice()),
        ] {
            let part = match object.remove(field) {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(part)) => part,
                Some(_) => return Err(wrong(format!("its {field} is not a mapping"))),
            };
            for inner in inner_fields {
                if part
                    .get(*inner)
                    .is_some_and(|value| !value.is_object() && !value.is_null())
                {
                    return Err(wrong(format!("its {field}.{inner} is not a mapping")));
                }
            }
            kept.insert(field.to_owned(), Value::Object(part));
        }
        Ok(kept)
    }
}

pub(crate) fn name_of(object: &Value) -> Option<&str> {
    object.get("name").and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
