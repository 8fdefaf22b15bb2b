//! The two families of path, index and id annotations, synchronized before and after a function.

use std::collections::HashMap;

use kiln_yaml::{Document, EditError, NodeRef};

use super::{ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PATH};
use crate::meta;
use crate::resource::Resource;

/// Why the two families cannot be synchronized.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FamilyError {
    /// Both are given and differ. Holds `path`, `index` or `id`.
    #[error("resource input to function has mismatched legacy and internal {0} annotations")]
    Mismatch(&'static str),
    /// Some resources use one family, some another.
    #[error("the annotation formatting in the input resources is not consistent")]
    Inconsistent,
    /// A resource cannot have annotations.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Which families the resources of a list use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Families {
    /// The keys that begin with `internal.`.
    pub internal: bool,
    /// The older keys.
    pub legacy: bool,
}

/// The annotations before a function ran, by migration id.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    before: HashMap<String, [Option<String>; 6]>,
}

/// The keys of both families, in pairs.
const KEYS: [&str; 6] = [PATH, LEGACY_PATH, INDEX, LEGACY_INDEX, ID, LEGACY_ID];

/// (what it is, internal key, older key)
const PAIRS: [(&str, &str, &str); 3] = [
    ("path", PATH, LEGACY_PATH),
    ("index", INDEX, LEGACY_INDEX),
    ("id", ID, LEGACY_ID),
];

/// The annotations of a resource in both families, read in one pass.
struct FamilyValues<'a>([Option<&'a str>; 6]);

impl<'a> FamilyValues<'a> {
    fn of(root: NodeRef<'a>) -> FamilyValues<'a> {
        FamilyValues(meta::several_annotations(root, KEYS))
    }

    /// The internal and the older value of each pair; a missing annotation counts as empty.
    fn pairs(&self) -> [(&'a str, &'a str); 3] {
        let [a, b, c, d, e, f] = self.0.map(Option::unwrap_or_default);
        [(a, b), (c, d), (e, f)]
    }

    /// Whether nothing is missing in one family that the other has, and nothing differs.
    fn are_in_step(&self) -> bool {
        self.pairs()
            .iter()
            .all(|(internal, legacy)| internal == legacy)
    }

    /// Of each pair of keys the one that is missing, with its value.
    fn missing_halves(&self) -> Vec<(&'static str, String)> {
        let missing = |((_, internal, legacy), given)| match given {
            ("", "") => None,
            (given, "") => Some((legacy, given.to_owned())),
            ("", given) => Some((internal, given.to_owned())),
            _ => None,
        };
        let pairs = PAIRS.into_iter().zip(self.pairs());
        pairs.filter_map(missing).collect()
    }

    /// An error if both values of a pair are given and differ.
    fn check_agreement(&self) -> Result<(), FamilyError> {
        for ((what, ..), (internal, legacy)) in PAIRS.into_iter().zip(self.pairs()) {
            if !internal.is_empty() && !legacy.is_empty() && internal != legacy {
                return Err(FamilyError::Mismatch(what));
            }
        }
        Ok(())
    }

    fn to_owned(&self) -> [Option<String>; 6] {
        self.0.map(|value| value.map(str::to_owned))
    }
}

/// Whether a document has an annotation of either family.
pub(crate) fn has_families(root: NodeRef<'_>) -> bool {
    let FamilyValues(values) = FamilyValues::of(root);
    values.iter().any(Option::is_some)
}

/// Sets, of each pair of keys, the one that is missing. Does nothing to a node without metadata.
pub fn mirror(resource: &mut Resource) -> Result<(), EditError> {
    let missing = FamilyValues::of(resource.root()).missing_halves();
    for (key, value) in missing {
        resource.set_annotation(key, &value)?;
    }
    Ok(())
}

/// The same for a document that is not a resource yet.
pub(crate) fn mirror_document(document: &mut Document) -> Result<(), EditError> {
    let missing = FamilyValues::of(document.root()).missing_halves();
    for (key, value) in missing {
        document.root_mut().set_annotation(key, &value)?;
    }
    Ok(())
}

/// Before a function: numbers the resources, records their annotations and completes the families.
pub fn prepare(resources: &mut [Resource]) -> Result<Snapshot, FamilyError> {
    let mut snapshot = Snapshot::default();
    for (number, resource) in resources.iter_mut().enumerate() {
        let id = number.to_string();
        resource.set_annotation(MIGRATION_ID, &id)?;
        let values = FamilyValues::of(resource.root());
        snapshot.before.insert(id, values.to_owned());
        let agreement = values.check_agreement();
        for (key, value) in values.missing_halves() {
            resource.set_annotation(key, &value)?;
        }
        agreement?;
    }
    Ok(snapshot)
}

/// After a function: copies its changes of one family to the other, and keeps only the families of the input.
pub fn reconcile(resources: &mut [Resource], snapshot: &Snapshot) -> Result<(), FamilyError> {
    let families = snapshot.families()?;
    let uses_both = families.internal && families.legacy;
    for resource in resources {
        let is_settled = uses_both && snapshot.has_values_of(resource.root());
        if !is_settled {
            mirror(resource)?;
            follow_changes(resource, snapshot)?;
            for (_, internal, legacy) in PAIRS {
                if !families.internal {
                    resource.remove_annotation(internal)?;
                }
                if !families.legacy {
                    resource.remove_annotation(legacy)?;
                }
            }
            FamilyValues::of(resource.root()).check_agreement()?;
        }
        resource.remove_annotation(MIGRATION_ID)?;
    }
    Ok(())
}

impl Snapshot {
    /// Records the annotations of a resource that has, or had, this migration id.
    pub fn remember(&mut self, id: &str, resource: &Resource) {
        let values = FamilyValues::of(resource.root()).to_owned();
        self.before.insert(id.to_owned(), values);
    }

    /// Whether a resource still has the path and the index that it had, in both families.
    fn has_values_of(&self, root: NodeRef<'_>) -> bool {
        let [path, legacy_path, index, legacy_index, id, legacy_id] = KEYS;
        let keys = [
            path,
            legacy_path,
            index,
            legacy_index,
            id,
            legacy_id,
            MIGRATION_ID,
        ];
        let [a, b, c, d, e, f, number] = meta::several_annotations(root, keys);
        let now = FamilyValues([a, b, c, d, e, f]);
        let before = number.and_then(|number| self.before.get(number));
        before.is_some_and(|before| {
            let is_as_before = |(pair, (value, _)): (usize, (&str, &str))| {
                original(before, pair).is_none_or(|original| original == value)
            };
            // Ids are not compared: functions do not change them on purpose.
            now.are_in_step()
                && now
                    .pairs()
                    .into_iter()
                    .enumerate()
                    .take(2)
                    .all(is_as_before)
        })
    }

    /// The families of the input, not counting resources without any. Both, if there was no input.
    pub fn families(&self) -> Result<Families, FamilyError> {
        if self.before.is_empty() {
            return Ok(Families {
                internal: true,
                legacy: true,
            });
        }
        let mut seen: Option<Families> = None;
        for values in self.before.values() {
            let uses = |family: usize| values.iter().skip(family).step_by(2).any(Option::is_some);
            let families = Families {
                internal: uses(0),
                legacy: uses(1),
            };
            if !families.internal && !families.legacy {
                continue;
            }
            if *seen.get_or_insert(families) != families {
                return Err(FamilyError::Inconsistent);
            }
        }
        Ok(seen.unwrap_or(Families {
            internal: false,
            legacy: false,
        }))
    }
}

/// The value of a pair before a function ran, if it had one.
fn original(before: &[Option<String>; 6], pair: usize) -> Option<&String> {
    let given = before.iter().skip(2 * pair).take(2).flatten().next();
    given.filter(|original| !original.is_empty())
}

/// Copies changes of one family to the other. A resource whose migration id is not in the snapshot stays
/// as it is.
pub fn follow_changes(resource: &mut Resource, snapshot: &Snapshot) -> Result<(), FamilyError> {
    let keys = [MIGRATION_ID, PATH, LEGACY_PATH, INDEX, LEGACY_INDEX];
    let given = meta::several_annotations(resource.root(), keys);
    let [id, path, legacy_path, index, legacy_index] = given.map(Option::unwrap_or_default);
    let Some(before) = snapshot.before.get(id) else {
        return Ok(());
    };
    // Functions do not change ids on purpose.
    let now = [(path, legacy_path), (index, legacy_index)];
    let mut changes = Vec::new();
    for ((pair, (what, internal, legacy)), (now, now_legacy)) in
        PAIRS.into_iter().enumerate().zip(now)
    {
        let Some(original) = original(before, pair) else {
            continue;
        };
        if original != now && original != now_legacy && now != now_legacy {
            return Err(FamilyError::Mismatch(what));
        } else if original != now {
            changes.push((legacy, now.to_owned()));
        } else if original != now_legacy {
            changes.push((internal, now_legacy.to_owned()));
        }
    }
    for (key, value) in changes {
        resource.set_annotation(key, &value)?;
    }
    Ok(())
}
