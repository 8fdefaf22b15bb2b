//! The two families of annotations about a resource's place, as kyaml's framework keeps them in step since 0.13.
//!
//! The framework numbers all resources to recognise them afterwards. A function may ask for that ([`in_step`]), or have
//! only the resources looked at that it has made, so that nothing else is touched.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::annotations::{
    FamilyError, ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PATH, mirror,
    prepare, reconcile,
};
use kiln_yaml::{Document, EditError, Kind, NodeId, Style};

use super::config::Generation;
use crate::function::{Ending, FunctionList};

/// (what it is, internal key, older key)
const PAIRS: [(&str, &str, &str); 3] = [
    ("path", PATH, LEGACY_PATH),
    ("index", INDEX, LEGACY_INDEX),
    ("id", ID, LEGACY_ID),
];

/// Which families the resources of a list have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Families {
    internal: bool,
    legacy: bool,
}

/// The families of a function's input. Resources must be able to carry annotations, both of a pair must say the same,
/// and all resources must use the same ones.
pub(crate) fn families(items: &[Resource]) -> Result<Families, FamilyError> {
    for resource in items {
        check_annotations(resource)?;
        check_agreement(resource)?;
    }
    let mut seen: Option<Families> = None;
    for resource in items {
        let has = |key| resource.annotation(key).is_some();
        let used = Families {
            internal: PAIRS.iter().any(|(_, internal, _)| has(internal)),
            legacy: PAIRS.iter().any(|(_, _, legacy)| has(legacy)),
        };
        let is_in_use = used.internal || used.legacy;
        if is_in_use && *seen.get_or_insert(used) != used {
            return Err(FamilyError::Inconsistent);
        }
    }
    let none_or_all = items.is_empty();
    Ok(seen.unwrap_or(Families {
        internal: none_or_all,
        legacy: none_or_all,
    }))
}

/// Does a function's work between the two halves of what the framework does: it numbers all resources and completes
/// their families, and afterwards lets one family follow the other and takes the numbers away.
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
            // It has been given the number, or it can have none.
            let _ = resource.remove_annotation(MIGRATION_ID);
        }
        Err(error.into())
    })
}

impl Families {
    /// Gives resources that have one of a pair the other, where both families are in use.
    pub(crate) fn complete(self, items: &mut [Resource]) -> Result<(), FamilyError> {
        if self.internal && self.legacy {
            for resource in items {
                mirror(resource)?;
            }
        }
        Ok(())
    }

    /// Gives a new resource the annotations of these families, and of no others.
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

/// Whether a resource could carry the number that the framework gives it. It is not given one.
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

/// The annotations of a resource.
pub(crate) fn annotation_map(resource: &Resource) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for (key, value) in resource.annotations() {
        map.entry(key.to_owned())
            .or_insert_with(|| value.to_owned());
    }
    map
}

/// Replaces all annotations of a resource. They come last in its metadata, sorted and without comments.
pub(crate) fn set_annotation_map(
    document: &mut Document,
    annotations: &BTreeMap<String, String>,
    generation: Generation,
) -> Result<(), EditError> {
    let mut root = document.root_mut();
    let Some(metadata) = root.lookup_create(&["metadata"], Kind::Mapping)? else {
        return Ok(());
    };
    set_text_map(document, metadata, ("annotations", annotations), generation)
}

/// Replaces a field of a mapping by a map of texts, which comes last, sorted and without comments. An empty map is left
/// out.
pub(crate) fn set_text_map(
    document: &mut Document,
    parent: NodeId,
    (field, map): (&str, &BTreeMap<String, String>),
    generation: Generation,
) -> Result<(), EditError> {
    document.node_mut(parent).remove(&[field])?;
    if map.is_empty() {
        return Ok(());
    }
    let mapping = document.new_mapping_node();
    for (key, value) in map {
        let (key, value) = (document.new_scalar(key, ""), document.new_string(value));
        let is_ambiguous = kiln_yaml::is_yaml_1_1_non_string(document.node(value).value());
        if is_ambiguous && generation == Generation::Third {
            document.set_style(value, Style::DOUBLE_QUOTED);
        }
        document.push_entry(mapping, key, value);
    }
    let key = document.new_scalar(field, "");
    document.push_entry(parent, key, mapping);
    Ok(())
}
