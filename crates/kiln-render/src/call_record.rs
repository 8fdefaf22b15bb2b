//! What a call of a function did to its resources, for reports.

use std::collections::HashSet;
use std::time::Instant;

use kiln_krm::annotations::PACKAGE_PATH;
use kiln_krm::kptfile::{Function, FunctionKind};
use kiln_krm::secrets::is_secret;
use kiln_krm::{Resource, ResourceId, paths};
use kiln_yaml::Document;

use crate::log::StepNumber;
use crate::restore::Returned;

/// Whether calls record which resources they touch. It costs time for each resource that a function changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TouchedResources {
    #[default]
    Ignore,
    Record,
}

/// One call of a function.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The package whose pipeline it belongs to.
    pub package: Option<String>,
    pub kind: FunctionKind,
    /// Which step of the package's pipeline it is, if it belongs to one.
    pub step: Option<StepNumber>,
    pub started: Instant,
    pub resources_in: usize,
    pub resources_out: usize,
    /// Whether the function did not run, because its answer was kept.
    pub is_cached: bool,
    /// The resources that the function added, changed or removed, if the options ask for them.
    pub touched: Vec<TouchedResource>,
    /// The Secrets that the function got or made, if the options ask for touched resources: reports must not show their values.
    pub secrets: Vec<Document>,
    /// The function as it is declared, with its selectors, if the options ask for touched resources.
    pub declared: Option<Box<Function>>,
    /// The configuration that the function got, if the options ask for touched resources.
    pub config: Option<Document>,
}

/// A resource as a function returned it, or as it was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchedResource {
    pub id: ResourceId,
    /// The path of the file: absolute if the package is known, else relative to it.
    pub file: String,
}

/// The resources that are not among the inputs that were kept.
pub(crate) fn touched(returned: &[Returned], inputs: &[Resource]) -> Vec<TouchedResource> {
    let mut touched = Vec::new();
    let mut known = HashSet::new();
    for item in returned {
        match item {
            Returned::Kept(index) => {
                known.extend(inputs.get(*index).map(key));
            }
            Returned::New(resource) => {
                known.insert(key(resource));
                touched.push(of(resource));
            }
        }
    }
    let removed = inputs.iter().filter(|input| !known.contains(&key(input)));
    touched.extend(removed.map(of));
    touched
}

/// The Secrets among the input, the output and the configuration.
pub(crate) fn secrets<'a>(
    returned: &'a [Returned],
    inputs: &'a [Resource],
    config: Option<&'a Document>,
) -> impl Iterator<Item = &'a Document> {
    let new = returned.iter().filter_map(|item| match item {
        Returned::Kept(_) => None,
        Returned::New(resource) => Some(resource.document()),
    });
    let documents = inputs.iter().map(Resource::document).chain(new);
    let documents = documents.chain(config);
    documents.filter(|document| is_secret(document.root()))
}

/// What identifies a resource between two functions, which may move it to another namespace.
fn key(resource: &Resource) -> (String, String) {
    (resource.kind().to_owned(), resource.name().to_owned())
}

fn of(resource: &Resource) -> TouchedResource {
    let package = resource.annotation(PACKAGE_PATH).unwrap_or_default();
    TouchedResource {
        id: resource.id(),
        file: paths::join(&[package, resource.file_place().0]),
    }
}
