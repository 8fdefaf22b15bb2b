//! ConstraintTemplates.

use kiln_yaml::go_quote;

use crate::sdk::json::{Content, JsonRef};

use super::TARGET;

/// A policy as it stands in the list.
pub(super) struct Template<'a> {
    pub(super) name: &'a str,
    /// The kind of its constraints.
    pub(super) kind: &'a str,
    pub(super) rego: &'a str,
    pub(super) libs: Vec<&'a str>,
    /// What its parameters must look like.
    pub(super) parameters: Option<JsonRef<'a>>,
}

const GROUP: &str = "templates.gatekeeper.sh";

impl<'a> Template<'a> {
    /// The template that an object is, if it is one.
    pub(super) fn read(object: JsonRef<'a>) -> Result<Option<Template<'a>>, String> {
        let string = |path: &[&str]| {
            let value = object.get_path(path).and_then(JsonRef::as_str);
            value.unwrap_or_default()
        };
        let api_version = string(&["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if group != GROUP || string(&["kind"]) != "ConstraintTemplate" {
            return Ok(None);
        }
        let name = string(&["metadata", "name"]);
        let unreadable = |why: &str| {
            let name = go_quote(name);
            format!("converting unstructured {name} to template: adding template: {why}")
        };
        if !matches!(version, "v1" | "v1beta1" | "v1alpha1") {
            let api_version = go_quote(api_version);
            return Err(unreadable(&format!(
                "no kind \"ConstraintTemplate\" is registered for version {api_version} in scheme \
                 \"pkg/runtime/scheme.go:100\""
            )));
        }
        let targets = object.get_path(&["spec", "targets"]);
        if let Some(wrong) = targets.and_then(not_an_array) {
            return Err(unreadable(&format!(
                "json: cannot unmarshal {wrong} into Go struct field ConstraintTemplateSpec.spec.targets of type \
                 []{version}.Target"
            )));
        }
        let targets: Vec<JsonRef<'a>> = targets.into_iter().flat_map(JsonRef::items).collect();
        let kind = string(&["spec", "crd", "spec", "names", "kind"]);
        let refused = |why: String| format!("adding template {}: {why}", go_quote(name));
        let target = check(name, kind, &targets).map_err(refused)?;
        let schema = ["spec", "crd", "spec", "validation", "openAPIV3Schema"];
        Ok(Some(Template {
            name,
            kind,
            rego: target
                .get("rego")
                .and_then(JsonRef::as_str)
                .unwrap_or_default(),
            libs: target
                .get("libs")
                .into_iter()
                .flat_map(JsonRef::items)
                .filter_map(JsonRef::as_str)
                .collect(),
            parameters: object.get_path(&schema),
        }))
    }
}

/// The one target, unless something is wrong.
fn check<'a>(name: &str, kind: &str, targets: &[JsonRef<'a>]) -> Result<JsonRef<'a>, String> {
    const INVALID: &str = "invalid ConstraintTemplate";
    if name.is_empty() {
        return Err(format!("{INVALID}: missing name"));
    }
    if kind.is_empty() {
        let name = go_quote(name);
        return Err(format!(
            "{INVALID}: ConstraintTemplate {name} does not specify CRD Kind"
        ));
    }
    if !name.eq_ignore_ascii_case(kind) {
        let (name, kind) = (go_quote(name), go_quote(&kind.to_lowercase()));
        return Err(format!(
            "{INVALID}: the ConstraintTemplate's name {name} is not equal to the lowercase of CRD's Kind: {kind}"
        ));
    }
    let refused =
        |why: &str| format!("failed to validate targets for template {name}: {INVALID}: {why}");
    match targets {
        [] => Err(refused(
            "field \"targets\" not specified in ConstraintTemplate spec",
        )),
        [target] => match target.get("target").and_then(JsonRef::as_str) {
            Some(TARGET) => Ok(*target),
            other => {
                let other = go_quote(other.unwrap_or_default());
                Err(refused(&format!(
                    "target {other} not recognized, known targets [{TARGET}]"
                )))
            }
        },
        _ => Err(refused(
            "multi-target templates are not currently supported",
        )),
    }
}

/// What Go calls a value that is no array, and does not take for one.
fn not_an_array(value: JsonRef<'_>) -> Option<&'static str> {
    match value.content() {
        Content::Array | Content::Null => None,
        Content::Bool(_) => Some("bool"),
        Content::Int(_) | Content::Float(_) => Some("number"),
        Content::String(_) => Some("string"),
        Content::Object => Some("object"),
    }
}
