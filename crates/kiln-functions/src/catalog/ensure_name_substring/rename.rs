//! Renaming one resource: its name, other fields that were asked for, and the one that it depends on.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle, to_string};

use super::config::{Config, Mode};
use crate::budget::is_stopped;
use crate::catalog::depends_on::{DEPENDS_ON, parts};
use crate::port::kustomize::replacement::look_up;
use crate::port::kustomize::{
    Creation, FieldPath, FieldSpec, FilterError, Generation, History, PreviousIdsError, ResourceId,
    apply_spec, expect_scalar, original_id, overwrite_scalar, round_trip,
};
use crate::settle::is_surely_plain;

const NAME: &str = "metadata/name";
static DEFAULT: FieldSpec = FieldSpec::new("", "", "", NAME, false);

/// Why a resource could not be renamed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum RenameError {
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error(transparent)]
    Previous(#[from] PreviousIdsError),
    #[error("unable to lookup path {path} in {id}: {error}")]
    LookUp {
        path: String,
        id: String,
        error: FilterError,
    },
}

/// The fields that have names: the usual one, then what was asked for.
pub(super) fn specs(config: &Config) -> impl Iterator<Item = &FieldSpec> {
    std::iter::once(&DEFAULT).chain(&config.additional)
}

/// Renames the resources of one list.
pub(super) struct Renamer<'c> {
    config: &'c Config,
    generation: Generation,
    skipped: Vec<ResourceId>,
    /// Group, kind and name of each resource before any was renamed; none if nobody asks for them.
    given: Option<HashSet<(String, String, String)>>,
}

impl<'c> Renamer<'c> {
    /// The first release knows less.
    pub(super) fn new(
        config: &'c Config,
        generation: Generation,
        is_first: bool,
        items: &[Resource],
    ) -> Renamer<'c> {
        let mut skipped = vec![
            selector("", "CustomResourceDefinition"),
            selector("apiregistration.k8s.io", "APIService"),
            selector("", "Namespace"),
        ];
        if !is_first {
            skipped.push(selector("kpt.dev", "Kptfile"));
        }
        let key = |resource: &Resource| {
            let id = ResourceId::of(resource.root());
            (id.group, id.kind, id.name)
        };
        Renamer {
            config,
            generation,
            skipped,
            given: (!is_first).then(|| items.iter().map(key).collect()),
        }
    }

    /// Renames one. Says whether it is to be read again to look as it will.
    pub(super) fn rename(&mut self, resource: &mut Resource) -> Result<bool, RenameError> {
        let original = original_id(resource, self.generation)?;
        if self.skipped.iter().any(|s| original.is_selected_by(s)) {
            return Ok(false);
        }
        let mut needs_reading = false;
        for spec in specs(self.config) {
            if is_stopped() {
                break;
            }
            let of_type = ResourceId {
                version: spec.version.to_string(),
                ..selector(&spec.group, &spec.kind)
            };
            if !original.is_selected_by(&of_type) || self.has_substring(resource, spec)? {
                continue;
            }
            if spec.path == NAME {
                let mut history = History::of(resource, self.generation);
                history.note_id();
                match self.config.mode {
                    Mode::Prepend => history.note_prefix(&self.config.substring),
                    Mode::Append => history.note_suffix(&self.config.substring),
                    Mode::Unknown => {}
                }
            }
            let mut set = |document: &mut Document, node: NodeId, path: FieldPath<'_>| {
                expect_scalar(document, node, path, self.generation)?;
                let name = self.config.extend(document.node(node).value());
                needs_reading |= !is_surely_plain(&name);
                if !name.is_empty() {
                    overwrite_scalar(document, node, &name);
                }
                Ok(())
            };
            let document = resource.document_mut();
            apply_spec(document, spec, Creation::Scalar, self.generation, &mut set)?;
            self.update_dependency(resource);
        }
        Ok(needs_reading)
    }

    fn has_substring(&self, resource: &Resource, spec: &FieldSpec) -> Result<bool, RenameError> {
        let substring = &self.config.substring;
        if spec.path == NAME {
            return Ok(resource.name().contains(substring));
        }
        // The original reads the resource into maps first; what of it has no form in JSON is looked at as it is.
        let document = resource.document();
        let plain = round_trip(document).unwrap_or_else(|_| document.clone());
        let path: Vec<String> = spec.path.split('/').map(str::to_owned).collect();
        let found = look_up(&plain, &path, self.generation).map_err(|error| {
            let path = spec.path.to_string();
            match original_id(resource, self.generation) {
                Ok(id) => {
                    let id = id.former_text();
                    RenameError::LookUp { path, id, error }
                }
                Err(error) => error.into(),
            }
        })?;
        let found = found.map(|found| plain.node(found.node));
        let Some(found) = found.filter(|found| !found.is_null()) else {
            return Ok(false);
        };
        // Large numbers come out of JSON in another form.
        let given = look_up(document, &path, self.generation).ok().flatten();
        let given = given.map(|given| document.node(given.node));
        let is_text = |node: &NodeRef<'_>| !node.is_scalar() || node.tag() == "!!str";
        let number = given.filter(|given| !is_text(given));
        // What counts is how the value is written, be it a text or a tree.
        let text = match number {
            Some(number) => number.value().to_owned(),
            None => to_string(&Document::from_node(found), SequenceStyle::Compact),
        };
        Ok(text.contains(substring))
    }

    /// Renames the resource that this one depends on, if it is one of the list.
    fn update_dependency(&self, resource: &mut Resource) {
        let (Some(given), Some(text)) = (&self.given, resource.annotation(DEPENDS_ON)) else {
            return;
        };
        let Some(parts) = parts(text) else {
            return;
        };
        let (group, kind, name) = match *parts.as_slice() {
            [group, "namespaces", _, kind, name] | [group, kind, name] => (group, kind, name),
            _ => return,
        };
        let key = (group.to_owned(), kind.to_owned(), name.to_owned());
        if self.config.mode == Mode::Unknown || !given.contains(&key) {
            return;
        }
        let name = self.config.extend(name);
        let before = parts.split_last().map(|(_, before)| before.join("/"));
        let text = format!("{}/{name}", before.unwrap_or_default());
        History::of(resource, self.generation).set_annotation(DEPENDS_ON, text);
    }
}

fn selector(group: &str, kind: &str) -> ResourceId {
    ResourceId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..ResourceId::default()
    }
}
