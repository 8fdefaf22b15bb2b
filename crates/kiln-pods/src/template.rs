//! What pods and services are made of: templates, ours or those of the cluster's owner.
//!
//! A template is kept as the JSON it was given as, so that fields this program knows nothing of reach Kubernetes. It is
//! checked when it is read, not when a pod is made of it: [`Templates`] always has a container named `function`.

mod builtin;

use serde_json::{Map, Value};

/// The container that runs the function.
pub(crate) const FUNCTION_CONTAINER: &str = "function";

/// The container that brings the wrapper.
pub(crate) const WRAPPER_CONTAINER: &str = "copy-wrapper-server";

/// Key of a pod template in a ConfigMap.
const POD_KEY: &str = "template";

/// Key of a service template in a ConfigMap.
const SERVICE_KEY: &str = "serviceTemplate";

/// Name of the PodTemplate that newer versions of Porch use.
pub const BASE_POD_TEMPLATE: &str = "base-pod-template";

/// Name of the ServiceTemplate that newer versions of Porch use.
pub const BASE_SERVICE_TEMPLATE: &str = "base-service-template";

/// A pod and a service in which image, names and arguments are missing.
#[derive(Clone, PartialEq, Debug)]
pub struct Templates {
    /// `metadata` and `spec` of a pod.
    pub(crate) pod: Map<String, Value>,
    /// `metadata` and `spec` of a service.
    pub(crate) service: Map<String, Value>,
    /// Changes whenever a template does.
    pub(crate) version: String,
    /// Whether the image of the container that brings the wrapper is ours to say.
    pub(crate) sets_wrapper_image: bool,
}

/// Why templates cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TemplateError {
    /// A key is missing.
    #[error(
        "{source_name} has no key \"{key}\"; it needs \"template\" (a Pod) and \"serviceTemplate\" (a Service)"
    )]
    MissingKey {
        /// Where templates come from.
        source_name: String,
        /// The key.
        key: &'static str,
    },
    /// A text is not YAML.
    #[error("\"{key}\" of {source_name} is not YAML: {reason}")]
    Yaml {
        /// Where templates come from.
        source_name: String,
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Something else is there.
    #[error("\"{key}\" of {source_name} is not a {kind}: {reason}")]
    Kind {
        /// Where templates come from.
        source_name: String,
        /// The key.
        key: &'static str,
        /// What it should be.
        kind: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing would run the function.
    #[error(
        "\"{key}\" of {source_name} has no container named \"function\", whose image and arguments could be set"
    )]
    NoFunctionContainer {
        /// Where templates come from.
        source_name: String,
        /// The key.
        key: &'static str,
    },
}

impl Templates {
    /// The templates that are built in.
    pub fn builtin() -> Templates {
        Templates {
            pod: builtin::pod(),
            service: builtin::service(),
            version: builtin::VERSION.to_owned(),
            sets_wrapper_image: true,
        }
    }

    /// The templates of a ConfigMap, as `--function-pod-template` names it.
    pub fn from_config_map(
        name: &str,
        data: &Map<String, Value>,
        resource_version: &str,
    ) -> Result<Templates, TemplateError> {
        let source = Source(format!("ConfigMap \"{name}\""));
        Ok(Templates {
            pod: source.pod(POD_KEY, source.yaml(POD_KEY, data)?)?,
            service: source.service(SERVICE_KEY, source.yaml(SERVICE_KEY, data)?)?,
            version: resource_version.to_owned(),
            sets_wrapper_image: false,
        })
    }

    /// The templates of newer versions of Porch; what is missing is as it is built in. Each comes with its resource
    /// version.
    pub fn from_objects(
        pod_template: Option<(&Value, &str)>,
        service_template: Option<(&Value, &str)>,
    ) -> Result<Templates, TemplateError> {
        let mut templates = Templates::builtin();
        let mut versions = Vec::new();
        if let Some((object, version)) = pod_template {
            let source = Source(format!("PodTemplate \"{BASE_POD_TEMPLATE}\""));
            templates.pod = source.pod(POD_KEY, template_of(object))?;
            versions.push(version);
        }
        if let Some((object, version)) = service_template {
            let source = Source(format!("ServiceTemplate \"{BASE_SERVICE_TEMPLATE}\""));
            templates.service = source.service(POD_KEY, template_of(object))?;
            versions.push(version);
        }
        if !versions.is_empty() {
            templates.version = versions.join("-");
        }
        Ok(templates)
    }

    /// What changes whenever a template does.
    pub fn version(&self) -> &str {
        &self.version
    }
}

fn template_of(object: &Value) -> Value {
    object.get("template").cloned().unwrap_or_default()
}

/// Where templates come from, for those who have to mend them.
struct Source(String);

impl Source {
    fn yaml(&self, key: &'static str, data: &Map<String, Value>) -> Result<Value, TemplateError> {
        let text = data.get(key).and_then(Value::as_str);
        let text = text.ok_or_else(|| TemplateError::MissingKey {
            source_name: self.0.clone(),
            key,
        })?;
        crate::yaml::read(text).map_err(|reason| TemplateError::Yaml {
            source_name: self.0.clone(),
            key,
            reason,
        })
    }

    fn pod(&self, key: &'static str, value: Value) -> Result<Map<String, Value>, TemplateError> {
        let pod = self.object(key, "Pod", value)?;
        let containers = pod.get("spec").and_then(|spec| spec.get("containers"));
        let containers = containers.and_then(Value::as_array);
        let has_function = containers.is_some_and(|containers| {
            let is_function = |container: &Value| name_of(container) == Some(FUNCTION_CONTAINER);
            containers.iter().any(is_function)
        });
        match has_function {
            true => Ok(pod),
            false => Err(TemplateError::NoFunctionContainer {
                source_name: self.0.clone(),
                key,
            }),
        }
    }

    fn service(
        &self,
        key: &'static str,
        value: Value,
    ) -> Result<Map<String, Value>, TemplateError> {
        self.object(key, "Service", value)
    }

    /// `metadata` and `spec`, which are mappings if they are there at all.
    fn object(
        &self,
        key: &'static str,
        kind: &'static str,
        value: Value,
    ) -> Result<Map<String, Value>, TemplateError> {
        let wrong = |reason: String| TemplateError::Kind {
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
