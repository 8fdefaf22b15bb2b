//! The resources by which references are resolved, and the choice among several candidates for a name.

use std::collections::HashMap;

use kiln_krm::Resource;

use super::super::KustomizeRelease;
use super::super::resource_id::{PreviousIdsError, ResourceId};
use super::super::resource_map::effective_namespace;
use super::super::scope::is_cluster_scoped;
use super::history::{affixes, previous_ids};
use crate::budget::is_stopped;

/// All resources of a list, by index.
pub(super) struct Known {
    resources: Vec<One>,
    by_previous_name: HashMap<String, Vec<usize>>,
    by_original_namespace: HashMap<String, Vec<usize>>,
}

struct One {
    current: ResourceId,
    previous: Vec<ResourceId>,
    is_cluster_scoped: bool,
    /// Its namespace, explicit or default.
    namespace: String,
    affixes: [Vec<String>; 2],
}

/// The target of a reference.
pub(super) struct Wanted<'w> {
    pub(super) name: &'w str,
    pub(super) namespace: Option<&'w str>,
    pub(super) target: &'w ResourceId,
    /// The type that the referrer specifies.
    pub(super) role: Option<ResourceId>,
    /// Namespaces that may be referred to besides that of the referrer.
    pub(super) account_namespaces: &'w [String],
}

const NO_NAMESPACE: &str = "_non_namespaceable_";

impl Known {
    pub(super) fn read(
        items: &[Resource],
        release: KustomizeRelease,
    ) -> Result<Known, PreviousIdsError> {
        let mut known = Known {
            resources: Vec::with_capacity(items.len()),
            by_previous_name: HashMap::new(),
            by_original_namespace: HashMap::new(),
        };
        for (place, resource) in items.iter().enumerate() {
            let one = One::read(resource, release)?;
            for previous in &one.previous {
                let places = known.by_previous_name.entry(previous.name.clone());
                let places = places.or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
            let namespace = one.original_namespace().to_owned();
            let places = known.by_original_namespace.entry(namespace).or_default();
            places.push(place);
            known.resources.push(one);
        }
        Ok(known)
    }

    /// The first id of a resource.
    pub(super) fn original(&self, place: usize) -> Option<&ResourceId> {
        let one = self.resources.get(place)?;
        Some(one.previous.first().unwrap_or(&one.current))
    }

    /// The current name of a resource.
    pub(super) fn name(&self, place: usize) -> &str {
        let one = self.resources.get(place);
        one.map_or("", |one| &one.current.name)
    }

    /// The current namespace of a resource; empty if it has none.
    pub(super) fn namespace(&self, place: usize) -> &str {
        let one = self.resources.get(place);
        one.map_or("", |one| &one.current.namespace)
    }

    /// The referenced resource; `None` if there is no candidate, an error with the ids if there are several with
    /// different names.
    pub(super) fn select(
        &self,
        referrer: usize,
        wanted: &Wanted<'_>,
    ) -> Result<Option<usize>, Vec<String>> {
        let named = self.by_previous_name.get(wanted.name);
        let (Some(named), Some(referrer)) = (named, self.resources.get(referrer)) else {
            return Ok(None);
        };
        let named = named.iter().take_while(|_| !is_stopped());
        let named = named.filter_map(|place| {
            let one = self.resources.get(*place)?;
            Some((*place, one))
        });
        let is_in_namespace = self.namespace_test(referrer, wanted);
        let mut candidates: Vec<(usize, &One)> = named
            .filter(|(_, one)| referrer.may_refer_to(one, wanted.account_namespaces))
            .filter(|(_, one)| is_in_namespace(one))
            .filter(|(_, one)| one.was(wanted.target))
            .filter(|(_, one)| wanted.role.as_ref().is_none_or(|role| one.was(role)))
            .filter(|(_, one)| referrer.shares_namespace_with(one))
            .collect();
        if candidates.len() > 1 {
            candidates.retain(|(_, one)| one.has_affixes_of(referrer));
        }
        let Some((first, one)) = candidates.first() else {
            return Ok(None);
        };
        let same = |(_, other): &(usize, &One)| other.current.name == one.current.name;
        match candidates.iter().all(same) {
            true => Ok(Some(*first)),
            false => {
                let ids = candidates.iter().map(|(_, one)| one.current.former_text());
                Err(ids.collect())
            }
        }
    }

    /// Tests whether a resource is in the requested namespace: by its original namespace if that matches any
    /// resource, otherwise by the current one.
    fn namespace_test<'w>(
        &self,
        referrer: &One,
        wanted: &Wanted<'w>,
    ) -> impl Fn(&One) -> bool + 'w + use<'w> {
        let namespace = wanted.namespace;
        let places = namespace.and_then(|namespace| self.by_original_namespace.get(namespace));
        let mut originals = places
            .into_iter()
            .flatten()
            .filter_map(|place| self.resources.get(*place));
        let by_original =
            originals.any(|one| referrer.may_refer_to(one, wanted.account_namespaces));
        move |one| match namespace {
            None => true,
            Some(NO_NAMESPACE) => false,
            Some(namespace) if by_original => one.original_namespace() == namespace,
            Some(namespace) => one.namespace == namespace,
        }
    }
}

impl One {
    fn read(resource: &Resource, release: KustomizeRelease) -> Result<One, PreviousIdsError> {
        let meta = resource.meta();
        Ok(One {
            current: ResourceId::of(resource.root()),
            previous: previous_ids(resource, release)?,
            is_cluster_scoped: is_cluster_scoped(meta.api_version, meta.kind),
            namespace: effective_namespace(meta).to_owned(),
            affixes: affixes(resource, release),
        })
    }

    /// Its original namespace. Previous ids have it as it was, explicit or not.
    fn original_namespace(&self) -> &str {
        match self.previous.first() {
            Some(previous) if previous.namespace.is_empty() => "default",
            Some(previous) => &previous.namespace,
            None => &self.namespace,
        }
    }

    /// Whether its original type matches.
    fn was(&self, selector: &ResourceId) -> bool {
        self.previous.iter().any(|id| id.is_selected_by(selector))
    }

    /// Whether this resource could refer to `target`.
    fn may_refer_to(&self, target: &One, account_namespaces: &[String]) -> bool {
        self.is_cluster_scoped
            || target.is_cluster_scoped
            || self.namespace == target.namespace
            || account_namespaces.contains(&target.current.namespace)
    }

    /// Whether this resource may refer to `target` by name alone.
    fn shares_namespace_with(&self, target: &One) -> bool {
        self.is_cluster_scoped
            || target.is_cluster_scoped
            || target.current.kind == "ServiceAccount"
            || self.namespace == target.namespace
    }

    /// Whether both have the same prefixes and suffixes, as far as both have some.
    fn has_affixes_of(&self, other: &One) -> bool {
        let mut pairs = self.affixes.iter().zip(&other.affixes);
        pairs.all(|(a, b)| match a.is_empty() || b.is_empty() {
            true => a.is_empty() && b.is_empty(),
            false => a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b),
        })
    }
}
