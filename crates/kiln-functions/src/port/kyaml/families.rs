//! The two families of path, index and id annotations, as kyaml's framework synchronizes them since 0.13.
//!
//! The framework numbers all resources to recognise them afterwards. A function can run with that ([`in_step`]), or
//! check only the resources that it creates, so that no other resource changes.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::annotations::{
    FamilyError, ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PATH, mirror,
    prepare, reconcile,
};
use kiln_yaml::{Document, EditError, Kind, NodeId, Style};

use super::config::KyamlRelease;
use crate::function::{Ending, FunctionList};

/// (name, internal key, legacy key)
const PAIRS: [(&str, &str, &str); 3] = [
    ("path", PATH, LEGACY_PATH),
    ("index", INDEX, LEGACY_INDEX),
    ("id", ID, LEGACY_ID),
];

/// Which families the resources of a list have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AnnotationFamilies {
    internal: bool,
    legacy: bool,
}

/// The families of a function's input. Annotations must be valid, both of a pair must have the same value, and all
/// resources must use the same families.
pub(crate) fn families(items: &[Resource]) -> Result<AnnotationFamilies, FamilyError> {
    for resource in items {
        check_annotations(resource)?;
        check_agreement(resource)?;
    }
    let mut seen: Option<AnnotationFamilies> = None;
    for resource in items {
        let has = |key| resource.annotation(key).is_some();
        let used = AnnotationFamilies {
            internal: PAIRS.iter().any(|(_, internal, _)| has(internal)),
            legacy: PAIRS.iter().any(|(_, _, legacy)| has(legacy)),
        };
        let is_in_use = used.internal || used.legacy;
        if is_in_use && *seen.get_or_insert(used) != used {
            return Err(FamilyError::Inconsistent);
        }
    }
    let none_or_all = items.is_empty();
    Ok(seen.unwrap_or(AnnotationFamilies {
        internal: none_or_all,
        legacy: none_or_all,
    }))
}

/// Runs a function as the framework does: it numbers all resources and completes their families before, and
/// synchronizes the families and removes the numbers afterwards.
pub(crate) fn in_step<E: From<FamilyError>>(
    list: &mut FunctionList,
    work: impl FnOnce(&mut FunctionList) -> Result<Ending, E>,
) -> Result<Ending, E> {
    let outcome = match prepare(&mut list.items) {
        Ok(snapshot) => {
            let outcome = work(list);
            reconcile(&mut list.items, &snapshot).map(|()| outcome)
        }
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        for resource in &mut list.items {
            // It has the number, or cannot have annotations.
            let _ = resource.remove_annotation(MIGRATION_ID);
        }
        Err(error.into())
    })
}

impl AnnotationFamilies {
    /// Completes the pairs of resources, where both families are in use.
    pub(crate) fn complete(self, items: &mut [Resource]) -> Result<(), FamilyError> {
        if self.internal && self.legacy {
            for resource in items {
                mirror(resource)?;
            }
        }
        Ok(())
    }

    /// Sets the annotations of these families on a new resource, and removes others.
    pub(crate) fn adapt(self, resource: &mut Resource) -> Result<(), FamilyError> {
        mirror(resource)?;
        for (_, internal, legacy) in PAIRS {
            if !self.internal {
                resource.remove_annotation(internal)?;
            }
            if !self.legacy {
                resource.remove_annotation(legacy)?;
            }
        }
        check_agreement(resource)
    }
}

/// Whether a resource could get the number of the framework. It is not set.
fn check_annotations(resource: &Resource) -> Result<(), FamilyError> {
    let annotation = ["metadata", "annotations", MIGRATION_ID];
    if resource.root().lookup(&annotation).is_err() {
        resource.clone().set_annotation(MIGRATION_ID, "")?;
    }
    Ok(())
}

fn check_agreement(resource: &Resource) -> Result<(), FamilyError> {
    let value = |key| resource.annotation(key).unwrap_or_default();
    for (what, internal, legacy) in PAIRS {
        let (internal, legacy) = (value(internal), value(legacy));
        if !internal.is_empty() && !legacy.is_empty() && internal != legacy {
            return Err(FamilyError::Mismatch(what));
        }
    }
    Ok(())
}

pub(crate) fn annotation_map(resource: &Resource) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for (key, value) in resource.annotations() {
        map.entry(key.to_owned())
            .or_insert_with(|| value.to_owned());
    }
    map
}

/// Replaces all annotations of a resource. They are written at the end of its metadata, sorted and without comments.
pub(crate) fn set_annotation_map(
    document: &mut Document,
    annotations: &BTreeMap<String, String>,
    release: KyamlRelease,
) -> Result<(), EditError> {
    let mut root = document.root_mut();
    let Some(metadata) = root.lookup_create(&["metadata"], Kind::Mapping)? else {
        return Ok(());
    };
    set_text_map(document, metadata, ("annotations", annotations), release)
}

/// Replaces a field of a mapping with a map of strings, which is written last, sorted and without comments. An empty
/// map is removed.
pub(crate) fn set_text_map(
    document: &mut Document,
    parent: NodeId,
    (field, map): (&str, &BTreeMap<String, String>),
    release: KyamlRelease,
) -> Result<(), EditError> {
    document.node_mut(parent).remove(&[field])?;
    if map.is_empty() {
        return Ok(());
    }
    let mapping = document.new_mapping_node();
    for (key, value) in map {
        let (key, value) = (document.new_scalar(key, ""), document.new_string(value));
        let is_ambiguous = kiln_yaml::is_yaml_1_1_non_string(document.node(value).value());
        if is_ambiguous && release == KyamlRelease::V0_13 {
            document.set_style(value, Style::DOUBLE_QUOTED);
        }
        document.push_entry(mapping, key, value);
    }
    let key = document.new_scalar(field, "");
    document.push_entry(parent, key, mapping);
    Ok(())
}
