//! Replacements: copies a value of one resource into fields of others.
//!
//! The release of 2021 replaces the target node with the source node, including tag, quotes and comments, and skips
//! missing fields; that of 2025 changes the text of scalars only, rejects missing fields, and supports `*` in paths.
//! A failure changes nothing.

mod config;
mod lookup;
mod path_match;

pub(crate) use config::{
    Options, Replacement, ReplacementSource, ReplacementTarget, SHAPE, Selector,
};
pub(crate) use lookup::{FoundNode, look_up};

use std::collections::{BTreeMap, HashSet};

use kiln_krm::Resource;
use kiln_yaml::{Document, Kind, NodeId, NodeRef};

use super::label_selector::LabelSelector;
use super::path_filter::FilterError;
use super::{KustomizeRelease, ResourceId, split_dotted};
use crate::budget::is_stopped;

pub(crate) const DEFAULT_FIELD: &str = "metadata.name";

/// Why a replacement failed, in kustomize's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReplaceError(String);

/// Applies replacements in order. Returns the indices of the resources that may have changed.
pub(crate) fn replace(
    items: &mut [Resource],
    replacements: &[Replacement],
    release: KustomizeRelease,
) -> Result<Vec<usize>, ReplaceError> {
    let mut work = ReplacementRun {
        items,
        originals: BTreeMap::new(),
        made: HashSet::new(),
        release,
    };
    let mut replacements = replacements.iter();
    let done = replacements.try_for_each(|replacement| work.replace(replacement));
    if let Err(error) = done {
        for (place, original) in work.originals {
            if let Some(item) = work.items.get_mut(place) {
                *item = original;
            }
        }
        return Err(error);
    }
    Ok(work.originals.into_keys().collect())
}

pub(crate) fn path_elements(path: &str, release: KustomizeRelease) -> Vec<String> {
    match path.strip_prefix('.') {
        Some(path) if release == KustomizeRelease::Api0_19 => split_dotted(path),
        _ => split_dotted(path),
    }
}

struct ReplacementRun<'w> {
    items: &'w mut [Resource],
    /// Changed resources, as they were before.
    originals: BTreeMap<usize, Resource>,
    /// Created nodes, which have no tag.
    made: HashSet<(usize, NodeId)>,
    release: KustomizeRelease,
}

/// The value for the targets.
enum ReplacementValue {
    /// A node of a resource. A target may change it before the next target gets it.
    Node { item: usize, node: NodeId },
    /// A literal value.
    Value(Box<Document>),
}

impl ReplacementRun<'_> {
    fn replace(&mut self, replacement: &Replacement) -> Result<(), ReplaceError> {
        let has_source = replacement.source.is_some() || replacement.source_value.is_some();
        let Some(targets) = replacement.targets.as_ref().filter(|_| has_source) else {
            return error("replacements must specify a source and at least one target");
        };
        let mut given = self.given(replacement)?;
        for target in targets {
            let Some(select) = &target.select else {
                return error("target must specify resources to select");
            };
            for item in 0..self.items.len() {
                if is_stopped() {
                    return Ok(());
                }
                if self.is_target(item, select, target)? {
                    self.write(item, target, &mut given)?;
                }
            }
        }
        Ok(())
    }

    fn given(&self, replacement: &Replacement) -> Result<ReplacementValue, ReplaceError> {
        let source = match (&replacement.source, &replacement.source_value) {
            (Some(_), Some(_)) => {
                return error("value and resource selectors are mutually exclusive");
            }
            (Some(source), None) => source,
            (None, value) => {
                let value = scalar(value.as_deref().unwrap_or_default());
                return Ok(ReplacementValue::Value(Box::new(value)));
            }
        };
        let item = self.source_item(source)?;
        let field = match source.field_path.as_str() {
            "" => DEFAULT_FIELD,
            path => path,
        };
        let Some(resource) = self.items.get(item) else {
            return error("nothing selected");
        };
        let path = path_elements(field, self.release);
        let found = look_up(resource.document(), &path, self.release);
        let found = found.map_err(|FilterError(error)| match self.release {
            KustomizeRelease::Api0_19 => {
                ReplaceError(format!("error looking up replacement source: {error}"))
            }
            _ => ReplaceError(error),
        })?;
        let node = found.map(|found| resource.document().node(found.node));
        let Some(node) = node.filter(|node| !is_nothing(*node)) else {
            let source = match self.release {
                KustomizeRelease::Api0_19 => source.id.text(),
                _ => source.text(field),
            };
            return error(format!(
                "fieldPath `{field}` is missing for replacement source {source}"
            ));
        };
        refined(source.options.as_ref(), item, node)
    }

    /// The only resource that a source selects.
    fn source_item(&self, source: &ReplacementSource) -> Result<usize, ReplaceError> {
        let mut found = None;
        for (place, resource) in self.items.iter().enumerate() {
            if is_stopped() {
                break;
            }
            let ids = ids(resource).map_err(|ReplaceError(error)| match self.release {
                KustomizeRelease::Api0_19 => {
                    ReplaceError(format!("error getting node IDs: {error}"))
                }
                _ => ReplaceError(error),
            })?;
            if ids.iter().any(|id| id.is_selected_by(&source.id)) {
                if found.is_some() {
                    let selector = source.text(&source.field_path);
                    return error(format!("multiple matches for selector {selector}"));
                }
                found = Some(place);
            }
        }
        found.ok_or_else(|| {
            let selector = source.text(&source.field_path);
            ReplaceError(format!("nothing selected by {selector}"))
        })
    }

    fn is_target(
        &self,
        item: usize,
        select: &Selector,
        target: &ReplacementTarget,
    ) -> Result<bool, ReplaceError> {
        let Some(resource) = self.items.get(item) else {
            return Ok(false);
        };
        let ids = ids(resource)?;
        if !fits(resource, select)? {
            return Ok(false);
        }
        for reject in &target.reject {
            let is_by_label = !reject.annotations.is_empty() || !reject.labels.is_empty();
            if is_by_label && fits(resource, reject)? {
                return Ok(false);
            }
        }
        let rejects = |id: &ResourceId| {
            let mut rejects = target.reject.iter().map(|reject| &reject.id);
            rejects.any(|reject| *reject != ResourceId::default() && id.is_selected_by(reject))
        };
        let is_selected = |id: &ResourceId| id.is_selected_by(&select.id);
        Ok(match self.release {
            KustomizeRelease::Api0_19 => ids.iter().any(is_selected) && !ids.iter().any(rejects),
            _ => ids.iter().any(|id| is_selected(id) && !rejects(id)),
        })
    }

    fn write(
        &mut self,
        item: usize,
        target: &ReplacementTarget,
        given: &mut ReplacementValue,
    ) -> Result<(), ReplaceError> {
        let options = target.options.as_ref();
        for field in target.fields() {
            let path = path_elements(field, self.release);
            let create = options.is_some_and(|options| options.create);
            let create = create.then(|| self.value(given).root().kind());
            for found in self.targets(item, field, &path, create)? {
                if is_stopped() {
                    return Ok(());
                }
                self.set(item, found, options, given)?;
            }
        }
        Ok(())
    }

    fn targets(
        &mut self,
        item: usize,
        field: &str,
        path: &[String],
        create: Option<Kind>,
    ) -> Result<Vec<FoundNode>, ReplaceError> {
        let release = self.release;
        if release != KustomizeRelease::Api0_19 {
            let found = match create {
                None => match self.items.get(item) {
                    Some(resource) => look_up(resource.document(), path, release),
                    None => Ok(None),
                },
                Some(kind) => {
                    let document = self.document_mut(item);
                    document.map_or(Ok(None), |document| {
                        lookup::look_up_or_create(document, path, kind, release)
                    })
                }
            };
            let found = found.map_err(|FilterError(error)| ReplaceError(error))?;
            return Ok(found.into_iter().collect());
        }
        let Some(document) = self.document_mut(item) else {
            return Ok(Vec::new());
        };
        let found = path_match::find(document, path, create);
        let or_create = if create.is_some() { " or create" } else { "" };
        let field = kiln_go::quote(field);
        let missing = format!("unable to find{or_create} field {field} in replacement target");
        match found {
            Ok(found) if found.is_empty() => error(missing),
            Ok(found) => {
                let made = found.iter().filter(|found| found.is_new);
                self.made.extend(made.map(|found| (item, found.node)));
                Ok(found)
            }
            Err(FilterError(reason)) => error(format!("{missing}: {reason}")),
        }
    }

    fn set(
        &mut self,
        item: usize,
        found: FoundNode,
        options: Option<&Options>,
        given: &mut ReplacementValue,
    ) -> Result<(), ReplaceError> {
        let value = self.value(given);
        let is_of_2025 = self.release == KustomizeRelease::Api0_19;
        let is_made = self.made.contains(&(item, found.node));
        let Some(document) = self.document_mut(item) else {
            return Ok(());
        };
        let target = document.node(found.node);
        let mut text = value.root().value().to_owned();
        let delimiter = options.map_or("", |options| &options.delimiter);
        if !delimiter.is_empty() {
            if !target.is_scalar() {
                return error(NOT_SCALAR);
            }
            let part = value.root().as_text().unwrap_or_default();
            let index = options.map_or(0, |options| options.index);
            text = joined(target.value(), part, delimiter, index);
        }
        if target.is_scalar() && is_of_2025 {
            document.set_value(found.node, &text);
            if is_made {
                document.set_tag(found.node, "");
            }
            return Ok(());
        }
        let new = document.import(value.root());
        if !delimiter.is_empty() {
            document.set_value(new, &text);
        }
        match found.parent {
            Some(parent) => {
                document.replace_child(parent, found.node, new);
            }
            None => document.set_root(new),
        }
        match given {
            ReplacementValue::Node { item: of, node } if *of == item && *node == found.node => {
                *node = new
            }
            _ => {}
        }
        Ok(())
    }

    fn value(&self, given: &ReplacementValue) -> Document {
        match given {
            ReplacementValue::Value(value) => Document::clone(value),
            ReplacementValue::Node { item, node } => match self.items.get(*item) {
                Some(resource) => Document::from_node(resource.document().node(*node)),
                None => Document::new_mapping(),
            },
        }
    }

    fn document_mut(&mut self, item: usize) -> Option<&mut Document> {
        let resource = self.items.get_mut(item)?;
        self.originals
            .entry(item)
            .or_insert_with(|| resource.clone());
        Some(resource.document_mut())
    }
}

const NOT_SCALAR: &str = "delimiter option can only be used with scalar nodes";

fn error<T>(message: impl Into<String>) -> Result<T, ReplaceError> {
    Err(ReplaceError(message.into()))
}

/// The part of a source that its options select.
fn refined(
    options: Option<&Options>,
    item: usize,
    node: NodeRef<'_>,
) -> Result<ReplacementValue, ReplaceError> {
    let Some(options) = options.filter(|options| !options.delimiter.is_empty()) else {
        let node = node.id();
        return Ok(ReplacementValue::Node { item, node });
    };
    if !node.is_scalar() {
        return error(NOT_SCALAR);
    }
    let text = node.value();
    let index = usize::try_from(options.index).ok();
    let part = index.and_then(|index| parts(text, &options.delimiter).nth(index));
    let Some(part) = part else {
        return error(format!(
            "options.index {} is out of bounds for value {text}",
            options.index
        ));
    };
    let mut value = Document::from_node(node);
    let root = value.root().id();
    value.set_value(root, part);
    Ok(ReplacementValue::Value(Box::new(value)))
}

/// A text with one of its parts replaced, or with a part added at the beginning or end.
fn joined(text: &str, part: &str, delimiter: &str, index: i64) -> String {
    let mut all: Vec<&str> = parts(text, delimiter).collect();
    match usize::try_from(index) {
        Err(_) => all.insert(0, part),
        Ok(index) => match all.get_mut(index) {
            Some(old) => *old = part,
            None => all.push(part),
        },
    }
    all.join(delimiter)
}

fn parts<'t>(text: &'t str, delimiter: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(delimiter)
}

/// A new scalar. Its text decides its type.
fn scalar(text: &str) -> Document {
    let mut document = Document::new_mapping();
    let node = document.new_scalar(text, "");
    document.set_root(node);
    document
}

fn ids(resource: &Resource) -> Result<Vec<ResourceId>, ReplaceError> {
    let previous =
        ResourceId::previous(resource).map_err(|error| ReplaceError(error.to_string()))?;
    let mut ids = vec![ResourceId::of(resource.root())];
    ids.extend(previous);
    Ok(ids)
}

fn fits(resource: &Resource, selector: &Selector) -> Result<bool, ReplaceError> {
    let parse =
        |text: &str| LabelSelector::parse(text).map_err(|error| ReplaceError(error.to_string()));
    let annotations = parse(&selector.annotations)?;
    let labels = parse(&selector.labels)?;
    Ok(annotations.matches(|key| resource.annotation(key))
        && labels.matches(|key| resource.label(key)))
}

/// Whether a node counts as missing.
pub(crate) fn is_nothing(node: NodeRef<'_>) -> bool {
    let is_collection = node.is_mapping() || node.is_sequence();
    node.is_null() || (is_collection && node.is_empty())
}
