//! Resources with their parents and references.
//!
//! Resources that are only referenced are part of the graph, without an object. Cycles are harmless: no walk takes
//! more than one step.

use std::collections::{BTreeMap, HashMap};

use kiln_krm::records;

use super::ExportTerraformRelease;
use super::object::Object;
use crate::budget::is_stopped;

/// A resource in a [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Id(usize);

pub(super) struct Graph<'a> {
    release: ExportTerraformRelease,
    entries: Vec<ResourceEntry<'a>>,
    /// By `kind/name`.
    by_key: BTreeMap<String, Id>,
    /// Sorted by name; filled by [`Graph::finish`].
    by_kind: HashMap<String, Vec<Id>>,
    /// The entry for ids that do not exist.
    nothing: ResourceEntry<'a>,
}

#[derive(Default, Debug)]
pub(super) struct ResourceEntry<'a> {
    pub(super) name: String,
    pub(super) kind: String,
    /// `None` if it is only referenced.
    pub(super) object: Option<Object<'a>>,
    pub(super) parent: Option<Id>,
    /// Resources that have it as parent or refer to it, once for each reference.
    pub(super) children: Vec<Id>,
    references: BTreeMap<&'static str, Id>,
    pub(super) variable: Option<&'static Variable>,
    /// Its index among the resources of its kind, from one.
    number: usize,
}

/// A value that becomes a variable if the input contains exactly one.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) kind: &'static str,
}

/// Sorted by name.
pub(super) static VARIABLES: [Variable; 2] = [
    Variable {
        name: "billing_account",
        description: "The ID of the billing account to associate projects with",
        kind: "BillingAccount",
    },
    Variable {
        name: "org_id",
        description: "The organization id for the associated resources",
        kind: "Organization",
    },
];

/// Where a resource refers to another one.
enum ReferenceSource {
    /// A field.
    Text(&'static [&'static str]),
    /// The name of the first item of a list.
    FirstItem(&'static [&'static str]),
    /// The text after the last slash of a field.
    LastPart(&'static [&'static str]),
}

const REFERENCES: [(&str, ReferenceSource, ExportTerraformRelease); 9] = [
    (
        "BillingAccount",
        ReferenceSource::Text(&["spec", "billingAccountRef", "external"]),
        ExportTerraformRelease::V0_1_0,
    ),
    (
        "BigQueryDataset",
        ReferenceSource::Text(&["spec", "destination", "bigQueryDatasetRef", "name"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "PubSubTopic",
        ReferenceSource::Text(&["spec", "destination", "pubSubTopicRef", "name"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "StorageBucket",
        ReferenceSource::Text(&["spec", "destination", "storageBucketRef", "name"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "ComputeNetwork",
        ReferenceSource::Text(&["spec", "networkRef", "name"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "ComputeRouter",
        ReferenceSource::Text(&["spec", "routerRef", "name"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "ComputeAddress",
        ReferenceSource::FirstItem(&["spec", "natIps"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "ComputeAddress",
        ReferenceSource::FirstItem(&["spec", "reservedPeeringRanges"]),
        ExportTerraformRelease::V0_2_0,
    ),
    (
        "LoggingLogBucket",
        ReferenceSource::LastPart(&["spec", "destination", "loggingLogBucketRef", "external"]),
        ExportTerraformRelease::V0_2_0,
    ),
];

/// The annotation with the project of a resource.
pub(super) const PROJECT: &str = "cnrm.cloud.google.com/project-id";

records! {
    struct Named = "struct" {
        name: String = "name",
    }
}

impl<'a> Graph<'a> {
    pub(super) fn new(release: ExportTerraformRelease) -> Graph<'a> {
        Graph {
            release,
            entries: Vec::new(),
            by_key: BTreeMap::new(),
            by_kind: HashMap::new(),
            nothing: ResourceEntry::default(),
        }
    }

    /// Adds a resource with its references. The second of two resources with the same name replaces the first, but
    /// the references of both are kept.
    pub(super) fn add(&mut self, object: Object<'a>) {
        let kind = object.text(&["kind"]).unwrap_or_default();
        let name = object.text(&["metadata", "name"]).unwrap_or_default();
        let id = self.entry_of(kind, name.trim());
        let mut references = BTreeMap::new();
        for (kind, source, since) in &REFERENCES {
            let name = source.name(object);
            if *since <= self.release && !name.is_empty() {
                let target = self.entry_of(kind, &name);
                self.add_child(target, id);
                references.insert(*kind, target);
            }
        }
        let parent = self.parent_of(object).map(|(kind, name)| {
            let parent = self.entry_of(kind, name);
            self.add_child(parent, id);
            parent
        });
        if let Some(entry) = self.entries.get_mut(id.0) {
            entry.object = Some(object);
            entry.references = references;
            entry.parent = parent.or(entry.parent);
        }
    }

    /// Must be called when all resources have been added.
    pub(super) fn finish(&mut self) {
        for id in self.by_key.values() {
            if let Some(entry) = self.entries.get_mut(id.0) {
                let of_kind = self.by_kind.entry(entry.kind.clone()).or_default();
                of_kind.push(*id);
                entry.number = of_kind.len();
            }
        }
        for variable in &VARIABLES {
            if let Some([only]) = self.by_kind.get(variable.kind).map(Vec::as_slice)
                && let Some(entry) = self.entries.get_mut(only.0)
            {
                entry.variable = Some(variable);
            }
        }
    }

    pub(super) fn entry(&self, id: Id) -> &ResourceEntry<'a> {
        self.entries.get(id.0).unwrap_or(&self.nothing)
    }

    /// All resources of a kind, sorted by name.
    pub(super) fn of_kind(&self, kind: &str) -> &[Id] {
        match is_stopped() {
            true => &[],
            false => self.by_kind.get(kind).map_or(&[], Vec::as_slice),
        }
    }

    /// The resources of a kind that have `id` as parent or refer to it.
    pub(super) fn children_of_kind(&self, id: Id, kind: &str) -> Vec<Id> {
        let children = self.entry(id).children.iter().copied();
        children
            .take_while(|_| !is_stopped())
            .filter(|child| self.entry(*child).kind == kind)
            .collect()
    }

    pub(super) fn reference(&self, id: Id, kind: &str) -> Option<Id> {
        self.entry(id).references.get(kind).copied()
    }

    /// The name of a resource in Terraform.
    pub(super) fn name(&self, id: Id) -> String {
        let entry = self.entry(id);
        if entry.object.is_some() && !entry.name.is_empty() {
            let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let chars = entry.name.chars();
            return chars.map(|c| if is_fine(c) { c } else { '-' }).collect();
        }
        let kind = entry.kind.to_lowercase();
        match self.of_kind(&entry.kind).len() {
            0 | 1 => kind,
            _ => format!("{kind}-{}", entry.number),
        }
    }

    pub(super) fn display_name(&self, id: Id) -> &'a str {
        let text = |path: &[&str]| self.entry(id).object.and_then(|object| object.text(path));
        text(&["spec", "displayName"])
            .or_else(|| text(&["spec", "name"]))
            .or_else(|| text(&["metadata", "name"]))
            .unwrap_or_default()
    }

    /// The expression for a folder or an organization, with its type.
    pub(super) fn typed_id(&self, id: Id) -> String {
        let entry = self.entry(id);
        let type_ = match entry.kind.as_str() {
            "Organization" => "organizations",
            _ => "folders",
        };
        match (entry.object, entry.variable) {
            (Some(_), _) => self.created_id(id),
            (None, Some(variable)) => format!("\"{type_}/${{var.{}}}\"", variable.name),
            (None, None) => format!("\"{type_}/{}\"", entry.name),
        }
    }

    /// The expression for a resource, without its type.
    pub(super) fn bare_id(&self, id: Id) -> String {
        let entry = self.entry(id);
        match (entry.object, entry.variable) {
            (Some(_), _) => self.created_id(id),
            (None, Some(variable)) => format!("var.{}", variable.name),
            (None, None) => format!("\"{}\"", entry.name),
        }
    }

    fn created_id(&self, id: Id) -> String {
        format!("google_folder.{}.name", self.name(id))
    }

    fn entry_of(&mut self, kind: &str, name: &str) -> Id {
        let next = Id(self.entries.len());
        let id = *self.by_key.entry(format!("{kind}/{name}")).or_insert(next);
        if id == next {
            self.entries.push(ResourceEntry {
                name: name.to_owned(),
                kind: kind.to_owned(),
                ..ResourceEntry::default()
            });
        }
        id
    }

    fn add_child(&mut self, parent: Id, child: Id) {
        if let Some(entry) = self.entries.get_mut(parent.0) {
            entry.children.push(child);
        }
    }

    /// Kind and name of the parent of a resource.
    fn parent_of(&self, object: Object<'a>) -> Option<(&'a str, &'a str)> {
        let text = |path: &[&str]| object.text(path).filter(|text| !text.is_empty());
        let project = || match self.release {
            // This release looks for it in a field that does not exist.
            ExportTerraformRelease::V0_1_0 => None,
            _ => text(&["metadata", "annotations", PROJECT]),
        };
        let of_kind = |kind: &'static str| move |name: &'a str| (kind, name);
        let (kind, name) = text(&["spec", "folderRef", "name"])
            .or_else(|| text(&["spec", "folderRef", "external"]))
            .map(of_kind("Folder"))
            .or_else(|| text(&["spec", "organizationRef", "external"]).map(of_kind("Organization")))
            .or_else(|| project().map(of_kind("Project")))
            .or_else(|| {
                let name = text(&["spec", "resourceRef", "external"])
                    .or_else(|| text(&["spec", "resourceRef", "name"]))?;
                Some((text(&["spec", "resourceRef", "kind"])?, name))
            })?;
        Some((kind, name.trim()))
    }
}

impl ReferenceSource {
    fn name(&self, object: Object<'_>) -> String {
        match self {
            ReferenceSource::Text(path) => object.text(path).unwrap_or_default().trim().to_owned(),
            ReferenceSource::FirstItem(path) => {
                let list = object.list::<Named>(path);
                let first = list.items.into_iter().next();
                first
                    .filter(|_| list.error.is_none())
                    .unwrap_or_default()
                    .name
            }
            ReferenceSource::LastPart(path) => {
                let text = object.text(path).unwrap_or_default();
                text.rsplit('/').next().unwrap_or_default().to_owned()
            }
        }
    }
}
