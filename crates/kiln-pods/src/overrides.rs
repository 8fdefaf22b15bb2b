//! What is set for the pods of one image only.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::objects::{containers, name_of_map, part};
use crate::template::{FUNCTION_CONTAINER, WRAPPER_CONTAINER};

/// What replaces parts of a template: `templateOverrides` of a FunctionConfig.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overrides {
    /// The service account of the pod.
    pub service_account_name: Option<String>,
    /// The security context of the pod.
    pub security_context: Option<Map<String, Value>>,
    /// For the container that brings the wrapper.
    pub init_container: Option<ContainerOverrides>,
    /// For the container of the function.
    pub container: Option<ContainerOverrides>,
}

/// What replaces parts of a container.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerOverrides {
    /// Requests and limits, each replaced if given.
    pub resources: Option<Resources>,
    /// Variables.
    pub env: Option<Vec<Value>>,
    /// Where variables come from.
    pub env_from: Option<Vec<Value>>,
}

/// What a container gets of its node.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// What it surely gets.
    pub requests: Option<Map<String, Value>>,
    /// What it gets at most.
    pub limits: Option<Map<String, Value>>,
}

impl Overrides {
    /// Puts them into the spec of a pod.
    pub(crate) fn apply(&self, spec: &mut Map<String, Value>) {
        if let Some(name) = self
            .service_account_name
            .as_deref()
            .filter(|name| !name.is_empty())
        {
            spec.insert("serviceAccountName".to_owned(), name.into());
        }
        if let Some(context) = &self.security_context {
            spec.insert("securityContext".to_owned(), context.clone().into());
        }
        for (field, name, overrides) in [
            ("initContainers", WRAPPER_CONTAINER, &self.init_container),
            ("containers", FUNCTION_CONTAINER, &self.container),
        ] {
            let Some(overrides) = overrides else {
                continue;
            };
            // Whatever it is called, the first one is meant if none has the name.
            let named = containers(spec, field).position(|found| name_of_map(found) == Some(name));
            if let Some(container) = containers(spec, field).nth(named.unwrap_or(0)) {
                overrides.apply(container);
            }
        }
    }

    /// The same text for the same overrides.
    pub(crate) fn text(&self) -> String {
        match *self == Overrides::default() {
            true => String::new(),
            false => format!("{self:?}"),
        }
    }
}

impl ContainerOverrides {
    fn apply(&self, container: &mut Map<String, Value>) {
        if let Some(resources) = &self.resources {
            for (field, given) in [
                ("requests", &resources.requests),
                ("limits", &resources.limits),
            ] {
                if let Some(given) = given {
                    part(container, "resources").insert(field.to_owned(), given.clone().into());
                }
            }
        }
        for (field, given) in [("env", &self.env), ("envFrom", &self.env_from)] {
            if let Some(given) = given {
                container.insert(field.to_owned(), given.clone().into());
            }
        }
    }
}
