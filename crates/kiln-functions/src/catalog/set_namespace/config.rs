//! The configuration of version 0.4.2 and later.

use kiln_yaml::NodeRef;

use crate::port::go_sdk::{FieldType, OBJECT_META, StructType, check_struct, is_gvk, text};

pub(super) struct SetNamespaceConfig {
    pub(super) namespace: String,
    /// The only namespace that is replaced.
    pub(super) matcher: Option<String>,
}

const CONFIG_MAP: StructType = StructType {
    name: "ConfigMap",
    fields: &[
        ("apiVersion", FieldType::Text),
        ("kind", FieldType::Text),
        ("metadata", FieldType::Struct(&OBJECT_META)),
        ("data", FieldType::TextMap),
        ("immutable", FieldType::Bool),
    ],
};

const SET_NAMESPACE: StructType = StructType {
    name: "SetNamespace",
    fields: &[
        ("apiVersion", FieldType::Text),
        ("kind", FieldType::Text),
        ("metadata", FieldType::Struct(&OBJECT_META)),
        ("namespace", FieldType::Text),
        ("namespaceMatcher", FieldType::Text),
    ],
};

/// The name of the ConfigMap with the package context.
const PACKAGE_CONTEXT: &str = "kptfile.kpt.dev";

pub(super) fn read(config: NodeRef<'_>) -> Result<SetNamespaceConfig, String> {
    if config.is_empty() {
        let text = "FunctionConfig is missing. Expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`";
        return Err(text.to_owned());
    }
    let matcher = |value: &str| Some(value.to_owned()).filter(|matcher| !matcher.is_empty());
    if is_gvk(config, "", "v1", "ConfigMap") {
        check_struct(config, &CONFIG_MAP)
            .map_err(|_| "failed to parse FunctionConfig as ConfigMap".to_owned())?;
        let is_context = text(config, &["metadata", "name"]) == PACKAGE_CONTEXT;
        let namespace = match text(config, &["data", "namespace"]) {
            "" if is_context => text(config, &["data", "name"]),
            namespace => namespace,
        };
        return match namespace {
            "" => Err("`data.namespace` should not be empty".to_owned()),
            namespace => Ok(SetNamespaceConfig {
                namespace: namespace.to_owned(),
                matcher: matcher(text(config, &["data", "namespaceMatcher"])),
            }),
        };
    }
    if is_gvk(config, "fn.kpt.dev", "v1alpha1", "SetNamespace") {
        check_struct(config, &SET_NAMESPACE).map_err(|_| {
            "failed to parse FunctionConfig as fn.kpt.dev.v1alpha1.SetNamespace".to_owned()
        })?;
        return match text(config, &["namespace"]) {
            "" => Err("`namespace` should not be empty".to_owned()),
            namespace => Ok(SetNamespaceConfig {
                namespace: namespace.to_owned(),
                matcher: matcher(text(config, &["namespaceMatcher"])),
            }),
        };
    }
    Err(format!(
        "unknown functionConfig Kind={} ApiVersion={}, expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`",
        text(config, &["kind"]),
        text(config, &["apiVersion"])
    ))
}
