//! `kubeval`: validates resources against their schemas; the predecessor of kubeconform.
//!
//! The original is written in TypeScript around the kubeval program; neither is maintained. Its schemas come from an
//! OpenAPI document of Kubernetes v1.20.10 on GKE with Config Connector. Those of Kubernetes and kpt are built in;
//! for the others the function fails with an explanation. Kinds without any schema are errors of the original.
//!
//! As with all functions of that SDK, items come back sorted and without duplicates. The SDK also drops comments and
//! rewrites the style of everything. That is not done here: kpt restores comments, and the style has no meaning.

mod config;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::{BTreeMap, HashMap};

use kiln_krm::results::{Field, File, ResultItem, Severity};
use kiln_yaml::NodeRef;

use crate::budget::is_stopped;
use crate::function::{Context, Ending, Files, Function, FunctionList};
use crate::output::Results;
use crate::port::go_json::{JsonRef, Scalars, read};
use crate::port::go_sdk::{resource_ref, text};
use crate::port::jsonschema::{ParseError, Schemas, TypeTable, UnknownFields, kind_suffix, parse};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

use config::KubevalConfig;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "kubeval",
    former_names: &[],
    summary: "Validates resources against schemas of Kubernetes v1.20; use kubeconform instead",
    doc: include_str!("doc.md"),
    versions: &[FunctionVersion::new(&["v0.3.0"], Sdk::Plain, &Kubeval)],
};

struct Kubeval;

impl Function for Kubeval {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        if let Err(fault) = sort(list) {
            return fault;
        }
        let config = match KubevalConfig::read(list.config.take().as_ref()) {
            Ok(config) => config,
            Err(fault) => return fault,
        };
        let mut run = KubevalRun {
            config: &config,
            files: ctx.files,
            schemas: HashMap::new(),
        };
        let mut results = Results::default();
        for item in &list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            if let Err(error) = run.check(item.root(), &mut results) {
                return exit(1, &error);
            }
        }
        let failed = !results.is_empty();
        list.results.append(results);
        match failed {
            true => exit(1, ""),
            false => Ending::Success,
        }
    }
}

fn exit(code: i32, text: &str) -> Ending {
    let stderr = match text {
        "" => String::new(),
        text => format!("{text}\n"),
    };
    Ending::Exit { code, stderr }
}

/// Sorts items by key; of several items with the same key the last is kept.
fn sort(list: &mut FunctionList) -> Result<(), Ending> {
    let mut sorted = BTreeMap::new();
    for item in std::mem::take(&mut list.items) {
        let root = item.root();
        if !root.get("metadata").is_some_and(NodeRef::is_mapping) {
            let error = "TypeError: Cannot read property 'namespace' of undefined";
            return Err(exit(2, error));
        }
        let part = |path: &[&str]| text(root, path).to_owned();
        let key = [
            part(&["apiVersion"]),
            part(&["kind"]),
            part(&["metadata", "namespace"]),
            part(&["metadata", "name"]),
        ];
        sorted.insert(key.join("/"), item);
    }
    list.items = sorted.into_values().collect();
    Ok(())
}

struct KubevalRun<'a> {
    config: &'a KubevalConfig,
    files: &'a dyn Files,
    schemas: HashMap<(String, String), FoundSchema>,
}

enum FoundSchema {
    Schema(Schemas),
    /// No schema, and the program's message about that.
    Missing(String),
}

/// Errors that the program reports for a resource, or the failure of the program.
enum ResourceVerdict {
    Faults(Vec<String>),
    /// A resource without a type.
    Untyped(String),
    /// No schema, and the program's message about that.
    NoSchema(String),
}

impl KubevalRun<'_> {
    fn check(&mut self, item: NodeRef<'_>, results: &mut Results) -> Result<(), String> {
        let json = read(item, Scalars::Yaml12).map_err(|error| error.to_string())?;
        let root = json.root();
        let mut faults = Vec::new();
        // Every object with items is a list.
        let is_list = root
            .get("items")
            .is_some_and(|items| items.items().len() > 0);
        let resources: Vec<JsonRef<'_>> = match root.get("items") {
            Some(items) if is_list => items.items().collect(),
            _ => vec![root],
        };
        for resource in resources {
            match self.check_resource(resource)? {
                ResourceVerdict::Faults(mut found) => faults.append(&mut found),
                // The program prints this instead of any other output.
                ResourceVerdict::Untyped(error) => {
                    results.push(untyped(item, &error));
                    return Ok(());
                }
                ResourceVerdict::NoSchema(error) => {
                    results.push(no_schema(item, &error));
                    return Ok(());
                }
            }
        }
        let faults = faults.iter().take_while(|_| !is_stopped());
        results.extend(faults.map(|fault| fault_result(item, fault)));
        Ok(())
    }

    fn check_resource(&mut self, resource: JsonRef<'_>) -> Result<ResourceVerdict, String> {
        let field = |name: &str| match resource.get(name) {
            None => Err(format!("Missing '{name}' key")),
            Some(value) => match value.as_str() {
                Some(text) => Ok(text),
                None if value.content() == crate::port::go_json::JsonContent::Null => {
                    Err(format!("Missing '{name}' value"))
                }
                None => Err(format!("Expected string value for key '{name}'")),
            },
        };
        let (kind, api_version) = match (field("kind"), field("apiVersion")) {
            (Ok(kind), Ok(api_version)) => (kind, api_version),
            (Err(error), _) | (_, Err(error)) => return Ok(ResourceVerdict::Untyped(error)),
        };
        if self.config.skip_kinds.iter().any(|skipped| skipped == kind) {
            return Ok(ResourceVerdict::Faults(Vec::new()));
        }
        let key = (api_version.to_owned(), kind.to_owned());
        if !self.schemas.contains_key(&key) {
            let found = self.find(api_version, kind)?;
            self.schemas.insert(key.clone(), found);
        }
        Ok(match self.schemas.get(&key) {
            Some(FoundSchema::Schema(schemas)) => {
                let faults = validate::validate(schemas, resource);
                ResourceVerdict::Faults(faults.map_err(|error| error.to_string())?)
            }
            Some(FoundSchema::Missing(text)) if !self.config.ignore_missing => {
                ResourceVerdict::NoSchema(text.clone())
            }
            _ => ResourceVerdict::Faults(Vec::new()),
        })
    }

    fn find(&self, api_version: &str, kind: &str) -> Result<FoundSchema, String> {
        let suffix = match self.config.unknown_fields {
            UnknownFields::Allowed => "",
            UnknownFields::Refused => "-strict",
        };
        let name = format!("{}{}", kind.to_lowercase(), kind_suffix(api_version));
        let path = |location: &str| format!("{location}/master-standalone{suffix}/{name}.json");
        let mut missing = Vec::new();
        let mut miss = |path: &str| {
            missing.push(format!(
                "Failed initializing schema file://{path}: open {path}: no such file or directory"
            ));
        };
        if self.config.locations.is_empty() {
            let unknown_fields = self.config.unknown_fields;
            let tables = TypeTable::of_kubeval().into_iter();
            let mut schemas = tables
                .filter_map(|table| table.schema_of_resource(api_version, kind, unknown_fields));
            if let Some(schemas) = schemas.next() {
                return Ok(FoundSchema::Schema(schemas));
            }
            if is_known_to_the_original(api_version) {
                return Err(format!(
                    "the schema of {kind} ({api_version}) is in kubeval's image but is not built in; give --no-native \
                     to run the function as the image it is, or list the kind in skip_kinds"
                ));
            }
            miss(&path("/tmp"));
        }
        for location in &self.config.locations {
            let path = path(location);
            let Some(text) = self.files.read(&path) else {
                miss(&path);
                continue;
            };
            match parse(&path, &text, &|path| self.files.read(path)) {
                Ok(schemas) => return Ok(FoundSchema::Schema(schemas)),
                Err(ParseError::Invalid(_)) => miss(&path),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(FoundSchema::Missing(missing.join("\n")))
    }
}

/// Whether a group belongs to GKE or Config Connector, whose types are in the original's document.
fn is_known_to_the_original(api_version: &str) -> bool {
    let group = api_version.split('/').next().unwrap_or_default();
    group.ends_with(".cnrm.cloud.google.com")
        || group.ends_with(".gke.io")
        || group == "cloud.google.com"
}

/// The program fails on a resource without a type, and the function on its output.
fn untyped(item: NodeRef<'_>, error: &str) -> ResultItem {
    let message = format!(
        "Failed to parse raw kubeval output:\nUnexpected token E in JSON at position 0\n\n{}",
        program_error(error)
    );
    result(item, message, None)
}

/// The program fails if no schema is found, and the function explains that.
fn no_schema(item: NodeRef<'_>, error: &str) -> ResultItem {
    let message = format!(
        "Validating arbitrary CRDs is not supported yet. You can skip them by setting ignore_missing_schemas or \
         skip_kinds in the function config:\n{}",
        program_error(error)
    );
    result(item, message, None)
}

fn program_error(error: &str) -> String {
    format!("ERR  - stdin: {error}\n")
}

/// An error that the program reports: a path, a colon and a message.
fn fault_result(item: NodeRef<'_>, fault: &str) -> ResultItem {
    match fault.split_once(':') {
        Some((path, message)) => result(item, message.trim().to_owned(), Some(path)),
        None => result(item, fault.to_owned(), None),
    }
}

fn result(item: NodeRef<'_>, message: String, path: Option<&str>) -> ResultItem {
    let annotation = |names: [&str; 2]| {
        let values = names.map(|name| text(item, &["metadata", "annotations", name]));
        values
            .into_iter()
            .find(|value| !value.is_empty())
            .unwrap_or_default()
    };
    let index = annotation([
        "internal.config.kubernetes.io/index",
        "config.kubernetes.io/index",
    ]);
    let file = File {
        path: annotation([
            "internal.config.kubernetes.io/path",
            "config.kubernetes.io/path",
        ])
        .to_owned(),
        index: index.parse().unwrap_or_default(),
    };
    ResultItem {
        resource_ref: Some(resource_ref(item)),
        field: path.map(Field::at),
        file: (file != File::default()).then_some(file),
        ..ResultItem::new(Severity::Error, message)
    }
}
