//! The resources with what they belong to and what they refer to.
//!
//! What is only referred to is there too, without an object. Cycles do no harm: nothing walks further than one step.

use std::collections::{BTreeMap, HashMap};

use kiln_krm::records;

use super::Version;
use super::object::Object;
use crate::budget::is_stopped;

/// A resource in a [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Id(usize);

pub(super) struct Graph<'a> {
    version: Version,
    entries: Vec<Entry<'a>>,
    /// By `kind/name`.
    by_key: BTreeMap<String, Id>,
    /// In the order of their names; filled when all are there.
    by_kind: HashMap<String, Vec<Id>>,
    /// What is at places that do not exist.
    nothing: Entry<'a>,
}

/// What is known of a resource.
#[derive(Default, Debug)]
pub(super) struct Entry<'a> {
    pub(super) name: String,
    pub(super) kind: String,
    /// None if it is only referred to.
    pub(super) object: Option<Object<'a>>,
    pub(super) parent: Option<Id>,
    /// Those that belong or refer to it, as often as they do.
    pub(super) children: Vec<Id>,
    references: BTreeMap<&'static str, Id>,
    pub(super) variable: Option<&'static Variable>,
    /// Its place among those of its kind, counted from one.
    number: usize,
}

/// A value that becomes a variable if there is only one of its kind.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) kind: &'static str,
}

/// By name.
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

/// Where a resource names another one.
enum Source {
    /// A field.
    Text(&'static [&'static str]),
    /// The name of a list's first item.
    FirstItem(&'static [&'static str]),
    /// What follows the last slash of a field.
    LastPart(&'static [&'static str]),
}

const REFERENCES: [(&str, Source, Version); 9] = [
    (
        "BillingAccount",
        Source::Text(&["spec", "billingAccountRef", "external"]),
        Version::First,
    ),
    (
        "BigQueryDataset",
        Source::Text(&["spec", "destination", "bigQueryDatasetRef", "name"]),
        Version::Second,
    ),
    (
        "PubSubTopic",
        Source::Text(&["spec", "destination", "pubSubTopicRef", "name"]),
        Version::Second,
    ),
    (
        "StorageBucket",
        Source::Text(&["spec", "destination", "storageBucketRef", "name"]),
        Version::Second,
    ),
    (
        "ComputeNetwork",
        Source::Text(&["spec", "networkRef", "name"]),
        Version::Second,
    ),
    (
        "ComputeRouter",
        Source::Text(&["spec", "routerRef", "name"]),
        Version::Second,
    ),
    (
        "ComputeAddress",
        Source::FirstItem(&["spec", "natIps"]),
        Version::Second,
    ),
    (
        "ComputeAddress",
        Source::FirstItem(&["spec", "reservedPeeringRanges"]),
        Version::Second,
    ),
    (
        "LoggingLogBucket",
        Source::LastPart(&["spec", "destination", "loggingLogBucketRef", "external"]),
        Version::Second,
    ),
];

/// The annotation with the project that a resource belongs to.
pub(super) const PROJECT: &str = "cnrm.cloud.google.com/project-id";

records! {
    struct Named = "struct" {
        name: String = "name",
    }
}

impl<'a> Graph<'a> {
    pub(super) fn new(version: Version) -> Graph<'a> {
        Graph {
            version,
            entries: Vec::new(),
            by_key: BTreeMap::new(),
            by_kind: HashMap::new(),
            nothing: Entry::default(),
        }
    }

    /// Adds a resource with its relations. The second of two with the same name takes the place of the first, but both
    /// have their relations.
    pub(super) fn add(&mut self, object: Object<'a>) {
        let kind = object.text(&["kind"]).unwrap_or_default();
        let name = object.text(&["metadata", "name"]).unwrap_or_default();
        let id = self.entry_of(kind, name.trim());
        let mut references = BTreeMap::new();
        for (kind, source, since) in &REFERENCES {
            let name = source.name(object);
            if *since <= self.version && !name.is_empty() {
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

    /// To be called when all resources are there.
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

    pub(super) fn entry(&self, id: Id) -> &Entry<'a> {
        self.entries.get(id.0).unwrap_or(&self.nothing)
    }

    /// All resources of a kind, by name.
    pub(super) fn of_kind(&self, kind: &str) -> &[Id] {
        match is_stopped() {
            true => &[],
            false => self.by_kind.get(kind).map_or(&[], Vec::as_slice),
        }
    }

    /// Those of a kind that belong or refer to a resource.
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

    /// What people call a resource.
    pub(super) fn display_name(&self, id: Id) -> &'a str {
        let text = |path: &[&str]| self.entry(id).object.and_then(|object| object.text(path));
        text(&["spec", "displayName"])
            .or_else(|| text(&["spec", "name"]))
            .or_else(|| text(&["metadata", "name"]))
            .unwrap_or_default()
    }

    /// An expression for a folder or an organization with its type.
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

    /// An expression for a resource without its type.
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
            self.entries.push(Entry {
                name: name.to_owned(),
                kind: kind.to_owned(),
                ..Entry::default()
            });
        }
        id
    }

    fn add_child(&mut self, parent: Id, child: Id) {
        if let Some(entry) = self.entries.get_mut(parent.0) {
            entry.children.push(child);
        }
    }

    /// Kind and name of what a resource belongs to.
    fn parent_of(&self, object: Object<'a>) -> Option<(&'a str, &'a str)> {
        let text = |path: &[&str]| object.text(path).filter(|text| !text.is_empty());
        let project = || match self.version {
            // It was looked for where it cannot be.
            Version::First => None,
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

impl Source {
    fn name(&self, object: Object<'_>) -> String {
        match self {
            Source::Text(path) => object.text(path).unwrap_or_default().trim().to_owned(),
            Source::FirstItem(path) => {
                let list = object.list::<Named>(path);
                let first = list.items.into_iter().next();
                first
                    .filter(|_| list.error.is_none())
                    .unwrap_or_default()
                    .name
            }
            Source::LastPart(path) => {
                let text = object.text(path).unwrap_or_default();
                text.rsplit('/').next().unwrap_or_default().to_owned()
            }
        }
    }
}
