//! The templates in force and their source.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::config::template::Templates;
use crate::kube::views::ObjectView;

/// Where templates come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TemplateSource {
    ConfigMap {
        name: String,
        namespace: String,
    },
    /// Objects with Porch's names, or the built-in templates.
    Objects,
}

/// The templates in force. An invalid template leaves the previous one in force.
#[derive(Debug)]
pub(crate) struct CurrentTemplates {
    source: TemplateSource,
    pod_template: Option<ObjectView>,
    service_template: Option<ObjectView>,
    current: Result<Arc<Templates>, String>,
}

impl CurrentTemplates {
    pub(crate) fn new(source: TemplateSource) -> CurrentTemplates {
        let current = match &source {
            TemplateSource::ConfigMap { name, namespace } => Err(format!(
                "ConfigMap \"{name}\" does not exist in namespace \"{namespace}\""
            )),
            TemplateSource::Objects => Ok(Arc::new(Templates::builtin())),
        };
        CurrentTemplates {
            source,
            pod_template: None,
            service_template: None,
            current,
        }
    }

    /// The templates in force; the error says why there are none.
    pub(crate) fn current(&self) -> Result<Arc<Templates>, String> {
        self.current.clone()
    }

    /// Replaces the ConfigMap; the error says why it is invalid.
    pub(crate) fn set_config_map(&mut self, object: Option<&ObjectView>) -> Result<(), String> {
        let TemplateSource::ConfigMap { name, namespace } = &self.source else {
            return Ok(());
        };
        let made = match object {
            None => Err(format!(
                "ConfigMap \"{name}\" does not exist in namespace \"{namespace}\""
            )),
            Some(object) => {
                let none = Map::new();
                let data = object.fields.get("data").and_then(Value::as_object);
                let version = &object.metadata.resource_version;
                Templates::from_config_map(name, data.unwrap_or(&none), version)
                    .map_err(|error| error.to_string())
            }
        };
        self.put(made)
    }

    /// Sets the error for a ConfigMap that this program is not allowed to read.
    pub(crate) fn set_unreadable(&mut self, reason: &str) {
        if let (TemplateSource::ConfigMap { name, namespace }, Err(current)) =
            (&self.source, &mut self.current)
        {
            *current = format!(
                "ConfigMap \"{name}\" in namespace \"{namespace}\" is not readable: {reason}"
            );
        }
    }

    pub(crate) fn set_pod_template(&mut self, object: Option<ObjectView>) -> Result<(), String> {
        self.pod_template = object;
        self.put_objects()
    }

    pub(crate) fn set_service_template(
        &mut self,
        object: Option<ObjectView>,
    ) -> Result<(), String> {
        self.service_template = object;
        self.put_objects()
    }

    fn put_objects(&mut self) -> Result<(), String> {
        let pod = self.pod_template.as_ref().map(parts);
        let service = self.service_template.as_ref().map(parts);
        let made = Templates::from_objects(
            pod.as_ref().map(|(object, version)| (object, *version)),
            service.as_ref().map(|(object, version)| (object, *version)),
        );
        self.put(made.map_err(|error| error.to_string()))
    }

    fn put(&mut self, made: Result<Templates, String>) -> Result<(), String> {
        match made {
            Ok(templates) => {
                self.current = Ok(Arc::new(templates));
                Ok(())
            }
            Err(reason) => {
                if self.current.is_err() {
                    self.current = Err(reason.clone());
                }
                Err(reason)
            }
        }
    }
}

fn parts(object: &ObjectView) -> (Value, &str) {
    let fields = Value::Object(object.fields.clone());
    (fields, object.metadata.resource_version.as_str())
}
