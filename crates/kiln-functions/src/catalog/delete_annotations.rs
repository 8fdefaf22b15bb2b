//! delete-annotations: removes annotations by their keys.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_krm::annotations::PATH;
use kiln_krm::results::{File, ResultItem, Severity};
use kiln_yaml::{Document, NodeId, NodeRef};

use crate::budget::is_stopped;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::go_sdk;
use crate::port::kyaml::failure;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "delete-annotations",
    former_names: &[],
    summary: "Removes annotations by their keys",
    doc: "\
Removes annotations from all resources.

Configuration: a ConfigMap with the keys, separated by commas.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: keys
    data:
      annotationKeys: example.com/owner,example.com/team
",
    versions: &[
        FunctionVersion::new(
            &["unstable"],
            Sdk::Go,
            &DeleteAnnotations {
                reports: Reports::Results,
            },
        ),
        FunctionVersion::new(
            &["latest"],
            Sdk::Go,
            &DeleteAnnotations {
                reports: Reports::ResultsAndStderr,
            },
        ),
    ],
};

struct DeleteAnnotations {
    reports: Reports,
}

/// Where an error is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reports {
    /// The SDK of that release leaves printing errors to the program, and this program does not print them.
    Results,
    ResultsAndStderr,
}

#[derive(Debug, thiserror::Error)]
enum DeleteError {
    #[error("annotationKeys was not provided as part of the config or paramters to the function")]
    NoKeys,
    /// The original prints a memory address here.
    #[error("the value of data.annotationKeys is not a string")]
    WrongType,
    #[error(
        "unable to remove fields [metadata annotations {key}] with error: value is of unexpected type *internal.{kind}"
    )]
    NotAMapping { key: String, kind: &'static str },
}

impl Function for DeleteAnnotations {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let outcome =
            keys(list.config.as_ref()).and_then(|keys| delete_all(&mut list.items, &keys));
        match outcome {
            Ok(results) => {
                list.results = results;
                Ending::Success
            }
            Err(error) => {
                let (message, stderr) = self.reports.texts(&error);
                list.results = failure(message).into();
                Ending::Exit { code: 1, stderr }
            }
        }
    }
}

impl Reports {
    /// The message of the result, and the text for standard error.
    fn texts(self, error: &DeleteError) -> (String, String) {
        let message = error.to_string();
        match (self, error) {
            (Reports::Results, _) => (message, String::new()),
            (Reports::ResultsAndStderr, DeleteError::NoKeys) => {
                // The original wraps a nil error.
                let message = format!("{message}, %!w(<nil>)");
                let stderr = format!("failed to evaluate function: {message}");
                (message, stderr)
            }
            (Reports::ResultsAndStderr, _) => {
                let stderr = format!("failed to evaluate function: {message}");
                (message, stderr)
            }
        }
    }
}

fn keys(config: Option<&Document>) -> Result<Vec<String>, DeleteError> {
    let config = config.ok_or(DeleteError::NoKeys)?;
    let keys = go_sdk::nested_text(config.root(), &["data", "annotationKeys"]);
    match keys.map_err(|_| DeleteError::WrongType)? {
        None | Some("") => Err(DeleteError::NoKeys),
        Some(keys) => Ok(keys.trim().split(',').map(str::to_owned).collect()),
    }
}

fn delete_all(items: &mut [Resource], keys: &[String]) -> Result<Results, DeleteError> {
    let mut results = Results::default();
    let mut count = 0;
    let mut last_name = String::new();
    for resource in items {
        let text = |path: &[&str]| {
            let text = go_sdk::nested_text(resource.root(), path);
            text.ok().flatten().unwrap_or_default().to_owned()
        };
        let name = text(&["metadata", "name"]);
        if name.is_empty() || text(&["kind"]).is_empty() || text(&["apiVersion"]).is_empty() {
            continue;
        }
        if is_stopped() {
            return Ok(results);
        }
        let mut path = resource.annotation(PATH).unwrap_or_default().to_owned();
        for key in delete(resource, keys)? {
            if key == PATH {
                path.clear();
            }
            if name != last_name {
                count += 1;
                last_name.clone_from(&name);
            }
            let message = format!("Annonation: [{key}] removed from resource: [{name}]");
            let path = path.clone();
            results.push(ResultItem {
                file: Some(File { path, index: 0 }),
                ..ResultItem::new(Severity::Info, message)
            });
        }
    }
    let summary = match results.is_empty() {
        true => "None of the resources had the provided annotations to delete".to_owned(),
        false => format!("The provided annotations were deleted from {count} resource(s)"),
    };
    results.push_first(ResultItem::new(Severity::Info, summary));
    Ok(results)
}

/// Removes all occurrences of annotations, and returns the keys of those that were there. The map stays, even if it is empty.
fn delete<'a>(resource: &mut Resource, keys: &'a [String]) -> Result<Vec<&'a str>, DeleteError> {
    let metadata = go_sdk::field(resource.root(), "metadata");
    let Some(annotations) = metadata.and_then(|metadata| go_sdk::field(metadata, "annotations"))
    else {
        return Ok(Vec::new());
    };
    if !annotations.is_mapping() {
        let kind = match annotations.is_sequence() {
            true => "sliceVariant",
            false => "scalarVariant",
        };
        let key = keys.first().cloned().unwrap_or_default();
        return Err(DeleteError::NotAMapping { key, kind });
    }
    let names = annotations.entries().map(|(name, _)| name);
    let mut names: HashSet<&str> = names
        .filter(|name| name.tag() == "!!str")
        .map(NodeRef::value)
        .collect();
    let keys = keys.iter().map(String::as_str);
    let deleted: Vec<&str> = keys.filter(|key| names.remove(key)).collect();
    if deleted.is_empty() {
        return Ok(deleted);
    }
    let wanted: HashSet<&str> = deleted.iter().copied().collect();
    let is_wanted = |name: NodeRef<'_>| name.tag() == "!!str" && wanted.contains(name.value());
    let kept: Vec<NodeId> = annotations
        .entries()
        .filter(|(name, _)| !is_wanted(*name))
        .flat_map(|(name, value)| [name.id(), value.id()])
        .collect();
    let id = annotations.id();
    resource.document_mut().set_children(id, &kept);
    Ok(deleted)
}
