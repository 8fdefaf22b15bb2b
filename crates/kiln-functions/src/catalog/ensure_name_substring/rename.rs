//! Renames one resource: its name, additional fields, and its `depends-on` annotation.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle, to_string};

use super::config::{EnsureNameSubstringConfig, Mode};
use crate::budget::is_stopped;
use crate::catalog::depends_on::{DEPENDS_ON, parts};
use crate::port::kustomize::replacement::look_up;
use crate::port::kustomize::{
    Creation, FieldPath, FieldSpec, FilterError, History, KustomizeRelease, PreviousIdsError,
    ResourceId, apply_spec, expect_scalar, original_id, overwrite_scalar, round_trip,
};
use crate::settle::is_surely_plain;

const NAME: &str = "metadata/name";
static DEFAULT: FieldSpec = FieldSpec::new("", "", "", NAME, false);

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

/// The fields that contain names: the default one, then the additional ones.
pub(super) fn specs(config: &EnsureNameSubstringConfig) -> impl Iterator<Item = &FieldSpec> {
    std::iter::once(&DEFAULT).chain(&config.additional)
}

pub(super) struct Renamer<'c> {
    config: &'c EnsureNameSubstringConfig,
    kustomize: KustomizeRelease,
    skipped: Vec<ResourceId>,
    /// Group, kind and name of each resource before the first was renamed; `None` if `depends-on` is ignored.
    given: Option<HashSet<(String, String, String)>>,
}

impl<'c> Renamer<'c> {
    /// `is_first`: v0.1.1, which ignores `depends-on`.
    pub(super) fn new(
        config: &'c EnsureNameSubstringConfig,
        kustomize: KustomizeRelease,
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
            kustomize,
            skipped,
            given: (!is_first).then(|| items.iter().map(key).collect()),
        }
    }

    /// Renames a resource. Returns whether it must be parsed again.
    pub(super) fn rename(&mut self, resource: &mut Resource) -> Result<bool, RenameError> {
        let original = original_id(resource, self.kustomize)?;
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
                let mut history = History::of(resource, self.kustomize);
                history.note_id();
                match self.config.mode {
                    Mode::Prepend => history.note_prefix(&self.config.substring),
                    Mode::Append => history.note_suffix(&self.config.substring),
                    Mode::Unknown => {}
                }
            }
            let mut set = |document: &mut Document, node: NodeId, path: FieldPath<'_>| {
                expect_scalar(document, node, path, self.kustomize)?;
                let name = self.config.extend(document.node(node).value());
                needs_reading |= !is_surely_plain(&name);
                if !name.is_empty() {
                    overwrite_scalar(document, node, &name);
                }
                Ok(())
            };
            let document = resource.document_mut();
            apply_spec(document, spec, Creation::Scalar, self.kustomize, &mut set)?;
            self.update_dependency(resource);
        }
        Ok(needs_reading)
    }

    fn has_substring(&self, resource: &Resource, spec: &FieldSpec) -> Result<bool, RenameError> {
        let substring = &self.config.substring;
        if spec.path == NAME {
            return Ok(resource.name().contains(substring));
        }
        // The original decodes the resource into maps first; parts that JSON cannot represent are read as they are.
        let document = resource.document();
        let plain = round_trip(document).unwrap_or_else(|_| document.clone());
        let path: Vec<String> = spec.path.split('/').map(str::to_owned).collect();
        let found = look_up(&plain, &path, self.kustomize).map_err(|error| {
            let path = spec.path.to_string();
            match original_id(resource, self.kustomize) {
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
        // Large numbers change their format in JSON.
        let given = look_up(document, &path, self.kustomize).ok().flatten();
        let given = given.map(|given| document.node(given.node));
        let is_text = |node: &NodeRef<'_>| !node.is_scalar() || node.tag() == "!!str";
        let number = given.filter(|given| !is_text(given));
        // The written form of the value counts, whether it is a scalar or a collection.
        let text = match number {
            Some(number) => number.value().to_owned(),
            None => to_string(&Document::from_node(found), SequenceStyle::Compact),
        };
        Ok(text.contains(substring))
    }

    /// Renames the resource in `depends-on` if the list contains it.
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
        History::of(resource, self.kustomize).set_annotation(DEPENDS_ON, text);
    }
}

fn selector(group: &str, kind: &str) -> ResourceId {
    ResourceId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..ResourceId::default()
    }
}
