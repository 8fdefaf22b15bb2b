//! Decides how one node of a tree is merged, given its three sides.

use std::collections::HashSet;

use kiln_yaml::{Kind, NodeRef};

use super::conflict::Taken;
use super::items::{Group, have_names, pair_items};
use super::tree::{Lists, MergeStyle};

/// A node on three sides.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) local: Option<NodeRef<'a>>,
    pub(super) origin: Option<NodeRef<'a>>,
    pub(super) updated: Option<NodeRef<'a>>,
}

impl<'a> Sides<'a> {
    pub(super) fn has_updated(self) -> bool {
        self.updated.is_some_and(|updated| !updated.is_null())
    }

    /// The sides without nulls.
    fn given(self) -> Sides<'a> {
        Sides {
            local: given(self.local),
            origin: given(self.origin),
            updated: given(self.updated),
        }
    }

    /// The nodes that exist.
    pub(super) fn all(self) -> impl Iterator<Item = NodeRef<'a>> {
        [self.local, self.origin, self.updated]
            .into_iter()
            .flatten()
    }
}

#[derive(Debug)]
pub(super) enum Decision {
    Keep,
    Clear,
    /// Take the value of the new upstream.
    Take,
    Fields,
    Items {
        groups: Vec<Group>,
        keys: Vec<String>,
    },
}

/// Decides, and returns the side that is taken if both have changed the node. `keys` are those of a list of known type.
pub(super) fn decide<'a>(
    sides: Sides<'a>,
    keys: Option<Option<Vec<String>>>,
    lists: Lists,
    style: MergeStyle,
) -> (Decision, Option<Taken>) {
    if style == MergeStyle::Kpt
        && let Some(decision) = decide_like_kpt(sides, keys.clone(), lists)
    {
        return (decision, None);
    }
    let Sides {
        local,
        origin,
        updated,
    } = sides;
    if is_null(updated) && !is_null(origin) {
        return match local {
            None => (Decision::Keep, None),
            Some(_) => {
                let are_given = given(local).is_some() && given(origin).is_some();
                let is_conflict = are_given && !opt_eq(local, origin);
                (Decision::Clear, is_conflict.then_some(Taken::Upstream))
            }
        };
    }
    let sides = sides.given();
    if is_null(local) && !is_null(origin) {
        if opt_eq(origin, updated) {
            return (Decision::Keep, None);
        }
        // A list that is merged by items and was set to null counts as missing: the changes of the upstream are added again.
        let are_lists = sides.all().all(|node| node.kind() == Kind::Sequence);
        return match pairing(sides, keys, lists).filter(|_| are_lists) {
            Some((groups, keys)) => sequence(sides, groups, keys, style),
            None => (Decision::Clear, Some(Taken::Local)),
        };
    }
    if sides.local.is_none() && sides.updated.is_none() {
        return (Decision::Keep, None);
    }
    let are = |kind| sides.all().all(|node| node.kind() == kind);
    if are(Kind::Mapping) && sides.all().all(is_regular) {
        return mapping(sides, style);
    }
    if are(Kind::Sequence)
        && let Some((groups, keys)) = pairing(sides, keys, lists)
    {
        return sequence(sides, groups, keys, style);
    }
    whole(sides, style)
}

fn is_null(node: Option<NodeRef<'_>>) -> bool {
    node.is_some_and(NodeRef::is_null)
}

fn given(node: Option<NodeRef<'_>>) -> Option<NodeRef<'_>> {
    node.filter(|node| !node.is_null())
}

/// What kpt decides by nulls and texts: a null that one side has set clears the field, a null everywhere goes with the first merge
/// and comes back as `{}` with the next one, and scalars are compared without their quotes. `None` for all other nodes.
fn decide_like_kpt(
    sides: Sides<'_>,
    keys: Option<Option<Vec<String>>>,
    lists: Lists,
) -> Option<Decision> {
    let Sides {
        local,
        origin,
        updated,
    } = sides;
    let values = sides.given();
    let is_cleared = (is_null(local) || is_null(updated)) && !is_null(origin);
    let Some(kind) = values.all().next().map(NodeRef::kind) else {
        let is_added = local.is_none() && is_null(updated) && !is_cleared;
        return Some(if is_added {
            Decision::Fields
        } else {
            Decision::Clear
        });
    };
    let are_lists = values.all().all(|node| node.kind() == Kind::Sequence);
    if are_lists && pairing(values, keys, lists).is_some() {
        return None;
    }
    if is_cleared || (kind == Kind::Mapping && is_null(local)) {
        return Some(Decision::Clear);
    }
    match (values.origin, values.updated) {
        (Some(origin), Some(updated)) if values.all().all(NodeRef::is_scalar) => {
            Some(match origin.value() == updated.value() {
                true => Decision::Keep,
                false => Decision::Take,
            })
        }
        _ => None,
    }
}

fn mapping(sides: Sides<'_>, style: MergeStyle) -> (Decision, Option<Taken>) {
    if style == MergeStyle::Kpt {
        let is_gone = sides.local.is_none() && sides.updated.is_none();
        let decision = if is_gone {
            Decision::Keep
        } else {
            Decision::Fields
        };
        return (decision, None);
    }
    match (sides.local, sides.origin, sides.updated) {
        (None, None, Some(_)) => (Decision::Take, None),
        (None, Some(_), Some(_)) if opt_eq(sides.origin, sides.updated) => (Decision::Keep, None),
        // Only the fields that the upstream has changed are added again.
        (None, Some(_), Some(_)) => (Decision::Fields, Some(Taken::Upstream)),
        (Some(_), None, None) | (None, _, None) => (Decision::Keep, None),
        (Some(_), Some(_), None) if opt_eq(sides.local, sides.origin) => (Decision::Clear, None),
        (Some(_), _, _) => (Decision::Fields, None),
    }
}

fn sequence(
    sides: Sides<'_>,
    groups: Vec<Group>,
    keys: Vec<String>,
    style: MergeStyle,
) -> (Decision, Option<Taken>) {
    match (sides.local, sides.origin, sides.updated) {
        (None, None, Some(_)) if style == MergeStyle::Kiln => (Decision::Take, None),
        (None, Some(_), Some(_)) if opt_eq(sides.origin, sides.updated) => (Decision::Keep, None),
        (Some(_), None, None) | (None, _, None) => (Decision::Keep, None),
        (Some(_), Some(_), None) => {
            let is_conflict = !opt_eq(sides.local, sides.origin);
            (Decision::Clear, is_conflict.then_some(Taken::Upstream))
        }
        _ => (Decision::Items { groups, keys }, None),
    }
}

/// The rule for nodes that are merged as a whole: a change of the new upstream is taken.
fn whole(sides: Sides<'_>, style: MergeStyle) -> (Decision, Option<Taken>) {
    let is_same = opt_eq(sides.local, sides.updated) && style == MergeStyle::Kiln;
    if opt_eq(sides.origin, sides.updated) || is_same {
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

/// Whether two nodes have the same value, or both are missing.
pub(super) fn opt_eq(one: Option<NodeRef<'_>>, other: Option<NodeRef<'_>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.value_eq(other),
        _ => false,
    }
}

/// Whether the keys of a mapping are scalars without duplicates.
pub(super) fn is_regular(node: NodeRef<'_>) -> bool {
    let mut names = HashSet::new();
    node.entries()
        .all(|(key, _)| key.is_scalar() && names.insert(key.value()))
}
