//! What a call of a function did to its resources, for reports.

use std::collections::HashMap;
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

/// The resources that the function made or changed, and the inputs that it removed.
pub(crate) fn touched(returned: &[Returned], inputs: &[Resource]) -> Vec<TouchedResource> {
    let mut is_kept = vec![false; inputs.len()];
    let mut new = Vec::new();
    for item in returned {
        match item {
            Returned::Kept(index) => {
                if let Some(is_kept) = is_kept.get_mut(*index) {
                    *is_kept = true;
                }
            }
            Returned::New(resource) => new.push(&**resource),
        }
    }
    let mut touched: Vec<TouchedResource> = new.iter().map(|resource| of(resource)).collect();
    let inputs = inputs.iter().zip(is_kept);
    let mut gone: Vec<Identified<'_>> = inputs
        .filter(|(_, is_kept)| !is_kept)
        .map(|(input, _)| Identified::of(input))
        .collect();
    let mut new: Vec<Identified<'_>> = new.into_iter().map(Identified::of).collect();
    for identity in IDENTITIES {
        remove_pairs(&mut gone, &mut new, identity);
    }
    touched.extend(gone.into_iter().map(|one| of(one.resource)));
    touched
}

/// A resource with its group, kind, namespace and name.
struct Identified<'a> {
    parts: [&'a str; 4],
    resource: &'a Resource,
}

impl<'a> Identified<'a> {
    fn of(resource: &'a Resource) -> Identified<'a> {
        let meta = resource.meta();
        let group = meta.api_version.split_once('/');
        let group = group.map_or("", |(group, _)| group);
        Identified {
            parts: [group, meta.kind, meta.namespace, meta.name],
            resource,
        }
    }
}

/// The parts of an identity that count; the others are empty.
type IdentityParts = for<'a> fn([&'a str; 4]) -> [&'a str; 4];

/// What a new resource may have in common with the input that it was, the most first: a function may move a resource to another
/// namespace, or its kind to another group.
const IDENTITIES: [IdentityParts; 3] = [
    |parts| parts,
    |[_, kind, namespace, name]| ["", kind, namespace, name],
    |[_, kind, _, name]| ["", kind, "", name],
];

/// How many inputs and new resources have an identity.
#[derive(Default)]
struct PairCount {
    inputs: usize,
    new: usize,
}

/// Removes inputs and new resources with one identity, as many of one as of the other.
fn remove_pairs<'a>(
    gone: &mut Vec<Identified<'a>>,
    new: &mut Vec<Identified<'a>>,
    identity: IdentityParts,
) {
    let mut pairs: HashMap<[&'a str; 4], PairCount> = HashMap::new();
    for input in gone.iter() {
        pairs.entry(identity(input.parts)).or_default().inputs += 1;
    }
    for resource in new.iter() {
        pairs.entry(identity(resource.parts)).or_default().new += 1;
    }
    for count in pairs.values_mut() {
        let least = count.inputs.min(count.new);
        (count.inputs, count.new) = (least, least);
    }
    let mut is_left = |one: &Identified<'a>, side: fn(&mut PairCount) -> &mut usize| {
        let left = pairs.get_mut(&identity(one.parts)).map(side);
        match left.filter(|left| **left > 0) {
            Some(left) => {
                *left -= 1;
                false
            }
            None => true,
        }
    };
    gone.retain(|one| is_left(one, |count| &mut count.inputs));
    new.retain(|one| is_left(one, |count| &mut count.new));
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

fn of(resource: &Resource) -> TouchedResource {
    let package = resource.annotation(PACKAGE_PATH).unwrap_or_default();
    TouchedResource {
        id: resource.id(),
        file: paths::join(&[package, resource.file_place().0]),
    }
}
