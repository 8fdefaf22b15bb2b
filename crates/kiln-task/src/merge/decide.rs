//! What becomes of one place in a tree, given what the three sides have there.

use std::collections::HashSet;

use kiln_yaml::{Kind, NodeRef};

use super::conflict::Taken;
use super::items::{Group, have_names, pair_items};
use super::tree::Lists;

/// A place as the three sides have it.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) local: Option<NodeRef<'a>>,
    pub(super) origin: Option<NodeRef<'a>>,
    pub(super) updated: Option<NodeRef<'a>>,
}

impl<'a> Sides<'a> {
    /// Whether the new upstream has something there.
    pub(super) fn has_updated(self) -> bool {
        self.updated.is_some_and(|updated| !updated.is_null())
    }

    /// What there is.
    pub(super) fn all(self) -> impl Iterator<Item = NodeRef<'a>> {
        [self.local, self.origin, self.updated]
            .into_iter()
            .flatten()
    }
}

/// What becomes of a place.
#[derive(Debug)]
pub(super) enum Decision {
    /// It stays as the local side has it.
    Keep,
    /// It goes.
    Clear,
    /// It becomes what the new upstream has.
    Take,
    /// Its fields are merged.
    Fields,
    /// Its items are merged.
    Items {
        groups: Vec<Group>,
        keys: Vec<String>,
    },
}

/// Decides, and says whose change was taken if both had made one. `keys` are those of a list of known type.
pub(super) fn decide<'a>(
    sides: Sides<'a>,
    keys: Option<Option<Vec<String>>>,
    lists: Lists,
) -> (Decision, Option<Taken>) {
    let is_null = |node: Option<NodeRef<'_>>| node.is_some_and(NodeRef::is_null);
    let Sides {
        local,
        origin,
        updated,
    } = sides;
    if is_null(updated) && !is_null(origin) {
        return match local {
            None => (Decision::Keep, None),
            Some(_) => {
                let is_given = |node: Option<NodeRef<'_>>| node.is_some_and(|node| !node.is_null());
                let is_conflict = is_given(local) && is_given(origin) && !opt_eq(local, origin);
                (Decision::Clear, is_conflict.then_some(Taken::Upstream))
            }
        };
    }
    let given = |node: Option<NodeRef<'a>>| node.filter(|node| !node.is_null());
    let sides = Sides {
        local: given(local),
        origin: given(origin),
        updated: given(updated),
    };
    if is_null(local) && !is_null(origin) {
        if opt_eq(origin, updated) {
            return (Decision::Keep, None);
        }
        // A list that is merged by items and was made null is as good as missing: what upstream has changed comes back.
        let are_lists = sides.all().all(|node| node.kind() == Kind::Sequence);
        return match pairing(sides, keys, lists).filter(|_| are_lists) {
            Some((groups, keys)) => sequence(sides, groups, keys),
            None => (Decision::Clear, Some(Taken::Local)),
        };
    }
    if sides.local.is_none() && sides.updated.is_none() {
        return (Decision::Keep, None);
    }
    let are = |kind| sides.all().all(|node| node.kind() == kind);
    if are(Kind::Mapping) && sides.all().all(is_regular) {
        return mapping(sides);
    }
    if are(Kind::Sequence)
        && let Some((groups, keys)) = pairing(sides, keys, lists)
    {
        return sequence(sides, groups, keys);
    }
    whole(sides)
}

fn mapping(sides: Sides<'_>) -> (Decision, Option<Taken>) {
    match (sides.local, sides.origin, sides.updated) {
        (None, None, Some(_)) => (Decision::Take, None),
        (None, Some(_), Some(_)) if opt_eq(sides.origin, sides.updated) => (Decision::Keep, None),
        // Only what upstream has changed comes back.
        (None, Some(_), Some(_)) => (Decision::Fields, Some(Taken::Upstream)),
        (Some(_), None, None) | (None, _, None) => (Decision::Keep, None),
        (Some(_), Some(_), None) if opt_eq(sides.local, sides.origin) => (Decision::Clear, None),
        (Some(_), _, _) => (Decision::Fields, None),
    }
}

fn sequence(sides: Sides<'_>, groups: Vec<Group>, keys: Vec<String>) -> (Decision, Option<Taken>) {
    match (sides.local, sides.origin, sides.updated) {
        (None, None, Some(_)) => (Decision::Take, None),
        (None, Some(_), Some(_)) if opt_eq(sides.origin, sides.updated) => (Decision::Keep, None),
        (Some(_), None, None) | (None, _, None) => (Decision::Keep, None),
        (Some(_), Some(_), None) => {
            let is_conflict = !opt_eq(sides.local, sides.origin);
            (Decision::Clear, is_conflict.then_some(Taken::Upstream))
        }
        _ => (Decision::Items { groups, keys }, None),
    }
}

/// The rule for everything that has no parts: what the new upstream has changed is taken.
fn whole(sides: Sides<'_>) -> (Decision, Option<Taken>) {
    if opt_eq(sides.origin, sides.updated) || opt_eq(sides.local, sides.updated) {
        return (Decision::Keep, None);
    }
    let is_conflict = !opt_eq(sides.local, sides.origin);
    let decision = match sides.updated {
        Some(_) => Decision::Take,
        None => Decision::Clear,
    };
    (decision, is_conflict.then_some(Taken::Upstream))
}

fn pairing(
    sides: Sides<'_>,
    keys: Option<Option<Vec<String>>>,
    lists: Lists,
) -> Option<(Vec<Group>, Vec<String>)> {
    let three = [sides.local, sides.origin, sides.updated];
    let keys = match keys {
        Some(keys) => keys?,
        None if lists == Lists::Inferred && have_names(three) => vec!["name".to_owned()],
        None => return None,
    };
    Some((pair_items(three, &keys)?, keys))
}

/// Whether two places have the same value, or both have none.
pub(super) fn opt_eq(one: Option<NodeRef<'_>>, other: Option<NodeRef<'_>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.value_eq(other),
        _ => false,
    }
}

/// Whether a mapping's fields have names, each its own.
pub(super) fn is_regular(node: NodeRef<'_>) -> bool {
    let mut names = HashSet::new();
    node.entries()
        .all(|(key, _)| key.is_scalar() && names.insert(key.value()))
}
