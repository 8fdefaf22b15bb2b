//! The configuration: a `StarlarkRun`, or a `ConfigMap` with a `source` among its data.

use kiln_krm::GroupVersionKind;
use kiln_yaml::{Document, NodeRef};

use crate::port::go_sdk::{FieldType, OBJECT_META, StructType, check_struct, field};
use crate::port::go_yaml::duplicate_keys;

pub(super) struct StarlarkRun {
    pub(super) name: String,
    pub(super) source: String,
}

impl StarlarkRun {
    /// Reads the configuration; errors are the original's. A script without a name gets `default_name`.
    pub(super) fn read(
        config: Option<&Document>,
        default_name: &str,
    ) -> Result<StarlarkRun, String> {
        let root = config.map(Document::root).filter(|root| !root.is_empty());
        let Some(root) = root else {
            return Err(
                "FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`".to_owned(),
            );
        };
        let text = |key: &str| field(root, key).and_then(NodeRef::as_text).unwrap_or("");
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", api_version),
        };
        let source = match (group, kind) {
            ("", "ConfigMap") => {
                check_keys(root).map_err(|error| conversion("ConfigMap", &error))?;
                check_struct(root, &CONFIG_MAP).map_err(|error| conversion("ConfigMap", &error))?;
                field(root, "data").and_then(|data| field(data, "source"))
            }
            ("fn.kpt.dev", "StarlarkRun") => {
                check_keys(root).map_err(|error| conversion("StarlarkRun", &error))?;
                check_struct(root, &STARLARK_RUN)
                    .map_err(|error| conversion("StarlarkRun", &error))?;
                field(root, "source")
            }
            _ => {
                let got = go_gvk(&GroupVersionKind {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    kind: kind.to_owned(),
                });
                return Err(format!(
                    "`functionConfig` must be either /v1, Kind=ConfigMap or \
                     fn.kpt.dev/v1alpha1, Kind=StarlarkRun, but we got: {got}"
                ));
            }
        };
        let name = field(root, "metadata").and_then(|metadata| field(metadata, "name"));
        let name = name.and_then(NodeRef::as_text).unwrap_or("");
        let name = if name.is_empty() { default_name } else { name };
        let source = source.and_then(NodeRef::as_text).unwrap_or("");
        if source.is_empty() {
            return Err("`source` must not be empty".to_owned());
        }
        Ok(StarlarkRun {
            name: name.to_owned(),
            source: source.to_owned(),
        })
    }
}

/// Rejects mappings with duplicate keys.
fn check_keys(root: NodeRef<'_>) -> Result<(), String> {
    duplicate_keys::report(root.document()).map_or(Ok(()), Err)
}

/// A type in the format in which Go prints it.
pub(super) fn go_gvk(gvk: &GroupVersionKind) -> String {
    format!("{}/{}, Kind={}", gvk.group, gvk.version, gvk.kind)
}

fn conversion(kind: &str, error: &str) -> String {
    let go_type = match kind {
        "ConfigMap" => "*v1.ConfigMap",
        _ => "*starlark.StarlarkRun",
    };
    format!("unable to convert object to {go_type} with error: {error}")
}

static CONFIG_MAP: StructType = StructType {
    name: "ConfigMap",
    fields: &[
        ("metadata", FieldType::Struct(&OBJECT_META)),
        ("data", FieldType::TextMap),
    ],
};

static STARLARK_RUN: StructType = StructType {
    name: "StarlarkRun",
    fields: &[
        ("metadata", FieldType::Struct(&OBJECT_META)),
        ("source", FieldType::Text),
    ],
};
