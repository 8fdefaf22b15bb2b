//! Reads ConstraintTemplates.

use kiln_go::quote;

use crate::port::go_json::{JsonContent, JsonRef};

use super::TARGET;
use super::release::GatekeeperRelease;

pub(super) struct Template<'a> {
    pub(super) name: &'a str,
    /// The kind of its constraints.
    pub(super) kind: &'a str,
    pub(super) rego: &'a str,
    pub(super) libs: Vec<&'a str>,
    /// The schema of its parameters.
    pub(super) parameters: Option<JsonRef<'a>>,
}

const GROUP: &str = "templates.gatekeeper.sh";

impl<'a> Template<'a> {
    pub(super) fn read(
        object: JsonRef<'a>,
        release: GatekeeperRelease,
    ) -> Result<Option<Template<'a>>, String> {
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
            let name = quote(name);
            format!("converting unstructured {name} to template: adding template: {why}")
        };
        if !matches!(version, "v1" | "v1beta1" | "v1alpha1") {
            if release == GatekeeperRelease::V0_2_1 {
                return Ok(None);
            }
            let api_version = quote(api_version);
            return Err(unreadable(&format!(
                "no kind \"ConstraintTemplate\" is registered for version {api_version} in scheme \
                 \"pkg/runtime/scheme.go:100\""
            )));
        }
        let targets = object.get_path(&["spec", "targets"]);
        if let Some(wrong) = targets.and_then(not_an_array) {
            return Err(unreadable(&wrong_targets(wrong, version)));
        }
        let targets: Vec<JsonRef<'a>> = targets.into_iter().flat_map(JsonRef::items).collect();
        let kind = string(&["spec", "crd", "spec", "names", "kind"]);
        let refused = |why: String| release.refused_template(name, &why);
        let target = check(name, kind, &targets, release).map_err(refused)?;
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

/// The only target; anything else is an error.
fn check<'a>(
    name: &str,
    kind: &str,
    targets: &[JsonRef<'a>],
    release: GatekeeperRelease,
) -> Result<JsonRef<'a>, String> {
    if name.is_empty() {
        return Err(release.invalid_template("missing name"));
    }
    if kind.is_empty() && release == GatekeeperRelease::V0_2_2 {
        let name = quote(name);
        let why = format!("ConstraintTemplate {name} does not specify CRD Kind");
        return Err(release.invalid_template(&why));
    }
    if !name.eq_ignore_ascii_case(kind) {
        let (name, kind) = (quote(name), quote(&kind.to_lowercase()));
        return Err(release.invalid_template(&format!(
            "the ConstraintTemplate's name {name} is not equal to the lowercase of CRD's Kind: {kind}"
        )));
    }
    let refused = |why: &str| {
        let why = release.invalid_template(why);
        format!("failed to validate targets for template {name}: {why}")
    };
    match targets {
        [] => Err(refused(
            "field \"targets\" not specified in ConstraintTemplate spec",
        )),
        [target] => match target.get("target").and_then(JsonRef::as_str) {
            Some(TARGET) => Ok(*target),
            other => Err(refused(&release.unknown_target(other.unwrap_or_default()))),
        },
        _ => Err(refused(
            "multi-target templates are not currently supported",
        )),
    }
}

/// The error in a template that v0.2.1 reports when it decodes the resource, before all other errors.
pub(super) fn decoding_fault(object: JsonRef<'_>) -> Option<String> {
    let version = template_version(object)?;
    let wrong = not_an_array(object.get_path(&["spec", "targets"])?)?;
    Some(format!(
        "error unmarshaling JSON: while decoding JSON: {}",
        wrong_targets(wrong, version)
    ))
}

pub(super) fn is_template(object: JsonRef<'_>) -> bool {
    template_version(object).is_some()
}

/// The version of a template, if it is known.
fn template_version(object: JsonRef<'_>) -> Option<&str> {
    let string = |name: &str| object.get(name).and_then(JsonRef::as_str);
    let (group, version) = string("apiVersion")?.split_once('/')?;
    let is_known = matches!(version, "v1" | "v1beta1" | "v1alpha1");
    let is_template = group == GROUP && string("kind") == Some("ConstraintTemplate");
    (is_known && is_template).then_some(version)
}

fn wrong_targets(wrong: &str, version: &str) -> String {
    format!(
        "json: cannot unmarshal {wrong} into Go struct field ConstraintTemplateSpec.spec.targets of type []{version}.Target"
    )
}

/// Go's name of the type of a value that is not an array.
fn not_an_array(value: JsonRef<'_>) -> Option<&'static str> {
    match value.content() {
        JsonContent::Array | JsonContent::Null => None,
        JsonContent::Bool(_) => Some("bool"),
        JsonContent::Int(_) | JsonContent::Float(_) => Some("number"),
        JsonContent::String(_) => Some("string"),
        JsonContent::Object => Some("object"),
    }
}
