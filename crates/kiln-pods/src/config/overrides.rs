//! Settings that apply to the pods of one image only.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config::template::{FUNCTION_CONTAINER, WRAPPER_CONTAINER};
use crate::kube::objects::{containers, name_of_map, part};

/// Replaces parts of a template: `templateOverrides` of a FunctionConfig.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Overrides {
    pub(crate) service_account_name: Option<String>,
    pub(crate) security_context: Option<Map<String, Value>>,
    /// For the init container that copies the wrapper server.
    pub(crate) init_container: Option<ContainerOverrides>,
    /// For the function container.
    pub(crate) container: Option<ContainerOverrides>,
}

/// Replaces parts of a container.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerOverrides {
    /// Requests and limits; each replaces that of the template if given.
    pub(crate) resources: Option<Resources>,
    pub(crate) env: Option<Vec<Value>>,
    pub(crate) env_from: Option<Vec<Value>>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Resources {
    pub(crate) requests: Option<Map<String, Value>>,
    pub(crate) limits: Option<Map<String, Value>>,
}

impl Overrides {
    /// Applies the overrides to the spec of a pod.
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
            // If no container has the name, the first one is used.
            let named = containers(spec, field).position(|found| name_of_map(found) == Some(name));
            if let Some(container) = containers(spec, field).nth(named.unwrap_or(0)) {
                overrides.apply(container);
            }
        }
    }

    /// A stable text of the overrides, for fingerprints.
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
