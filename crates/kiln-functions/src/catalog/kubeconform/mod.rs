//! `kubeconform`: validates resources against their schemas.
//!
//! The original is a thin wrapper around the kubeconform program and behaves like it: kinds without a schema pass,
//! whatever `ignore_missing_schemas` is, and of nested errors only the outermost are reported.

mod config;
mod location;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use kiln_krm::results::{Field, File, ResultItem, Severity};
use kiln_yaml::NodeRef;

use crate::budget::is_stopped;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::go_json::{JsonContent, JsonRef, Scalars, read};
use crate::port::go_sdk::{resource_ref, text};
use crate::port::jsonschema::{Schemas, validate};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

use config::KubeconformConfig;
use location::Locations;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "kubeconform",
    former_names: &[],
    summary: "Validates resources against the schemas of their kinds",
    doc: include_str!("doc.md"),
    versions: &[FunctionVersion::new(
        &["v0.1.1", "v0.1.2", "v0.1.3", "latest"],
        Sdk::Go,
        &Kubeconform,
    )],
};

struct Kubeconform;

impl Function for Kubeconform {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let config = KubeconformConfig::read(list.config.as_ref());
        let locations = match Locations::new(&config, ctx.files) {
            Ok(locations) => locations,
            Err(error) => return Ending::Error(error.to_string()),
        };
        let mut run = KubeconformRun {
            config: &config,
            locations,
            schemas: HashMap::new(),
        };
        let mut results = Results::default();
        for item in &list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            if let Err(error) = run.check(item.root(), &mut results) {
                return Ending::Error(error);
            }
        }
        let ending = match results.is_empty() {
            true => Ending::Success,
            false => Ending::Failure,
        };
        list.results.append(results);
        ending
    }
}

struct KubeconformRun<'a> {
    config: &'a KubeconformConfig,
    locations: Locations<'a>,
    /// By API version and kind, including kinds without a schema.
    schemas: HashMap<(String, String), Option<Schemas>>,
}

impl KubeconformRun<'_> {
    fn check(&mut self, item: NodeRef<'_>, results: &mut Results) -> Result<(), String> {
        let json = read(item, Scalars::Yaml12).map_err(|error| {
            format!(
                "failed to marshal object: failed to convert KubeObject to typed map: unable to convert object to \
                 *map[string]interface {{}} with error: {error}"
            )
        })?;
        for resource in resources(json.root()) {
            for (path, message) in self.check_resource(resource)? {
                if is_stopped() {
                    return Ok(());
                }
                results.push(ResultItem {
                    resource_ref: Some(resource_ref(item)),
                    field: Some(Field::at(path)),
                    file: Some(file(item)),
                    ..ResultItem::new(Severity::Error, message)
                });
            }
        }
        Ok(())
    }

    /// Returns paths and messages.
    fn check_resource(&mut self, resource: JsonRef<'_>) -> Result<Vec<(String, String)>, String> {
        let field = |name: &str| resource.get(name).and_then(JsonRef::as_str);
        // For a resource without a type the program reports an error that the function ignores.
        let (Some(kind), Some(api_version)) = (field("kind"), field("apiVersion")) else {
            return Ok(Vec::new());
        };
        let qualified = format!("{api_version}/{kind}");
        let is_skipped = |skipped: &String| *skipped == qualified || skipped == kind;
        if self.config.skip_kinds.iter().any(is_skipped) {
            return Ok(Vec::new());
        }
        let key = (api_version.to_owned(), kind.to_owned());
        if !self.schemas.contains_key(&key) {
            let found = self.locations.find(api_version, kind);
            let schema = found.map_err(|error| error.to_string())?;
            self.schemas.insert(key.clone(), schema);
        }
        let Some(Some(schemas)) = self.schemas.get(&key) else {
            return Ok(Vec::new());
        };
        let violations = validate(schemas, resource).map_err(|error| error.to_string())?;
        let reported = violations.into_iter().map(|violation| {
            let path = violation.path.replace('/', ".");
            let path = path.strip_prefix('.').unwrap_or(&path);
            (path.to_owned(), violation.message)
        });
        Ok(reported.collect())
    }
}

/// The resource, or its items if it is a list of any kind. Empty if the program could not determine its name.
fn resources(json: JsonRef<'_>) -> Vec<JsonRef<'_>> {
    if !has_signature(json) {
        return Vec::new();
    }
    let kind = json.get("kind").and_then(JsonRef::as_str);
    let has_version = json.get("apiVersion").and_then(JsonRef::as_str).is_some();
    match kind {
        Some(kind) if has_version && kind.eq_ignore_ascii_case("list") => json
            .get("items")
            .into_iter()
            .flat_map(JsonRef::items)
            .collect(),
        _ => vec![json],
    }
}

/// Whether the program can decode the metadata: a name must not be a list, for example.
fn has_signature(json: JsonRef<'_>) -> bool {
    let is_simple =
        |value: JsonRef<'_>| !matches!(value.content(), JsonContent::Array | JsonContent::Object);
    match json
        .get("metadata")
        .map(|metadata| (metadata, metadata.content()))
    {
        None | Some((_, JsonContent::Null)) => true,
        Some((metadata, JsonContent::Object)) => ["name", "namespace", "generateName"]
            .iter()
            .all(|field| metadata.get(field).is_none_or(is_simple)),
        Some(_) => false,
    }
}

/// The file of an item. An item without an index annotation has index -1.
fn file(item: NodeRef<'_>) -> File {
    let annotation = |name: &str| text(item, &["metadata", "annotations", name]);
    let index = match annotation("internal.config.kubernetes.io/index") {
        "" => -1,
        index => index.parse().unwrap_or_default(),
    };
    File {
        path: annotation("internal.config.kubernetes.io/path").to_owned(),
        index,
    }
}
