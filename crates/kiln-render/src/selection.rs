//! Taking a selection out of a list and putting back what a function made of it, each resource in its place.

use std::collections::HashMap;

use kiln_krm::Resource;
use kiln_krm::annotations::RESOURCE_ID;
use kiln_yaml::EditError;

/// Numbers all resources, so that what a function returns finds its place.
pub(crate) fn set_resource_ids(resources: &mut [Resource]) -> Result<(), EditError> {
    for (place, resource) in resources.iter_mut().enumerate() {
        resource.set_annotation(RESOURCE_ID, &place.to_string())?;
    }
    Ok(())
}

/// What a function did not get, with gaps where it did.
#[derive(Default)]
pub(crate) struct Rest {
    slots: Vec<Option<Resource>>,
    taken: Vec<usize>,
}

impl Rest {
    /// Takes the resources at these places out of the list, which may name a place several times in a row.
    pub(crate) fn split(resources: Vec<Resource>, taken: Vec<usize>) -> (Vec<Resource>, Rest) {
        let mut slots: Vec<Option<Resource>> = resources.into_iter().map(Some).collect();
        let mut selected: Vec<Resource> = Vec::with_capacity(taken.len());
        for place in &taken {
            match slots.get_mut(*place).and_then(Option::take) {
                Some(resource) => selected.push(resource),
                None => selected.extend(selected.last().cloned()),
            }
        }
        (selected, Rest { slots, taken })
    }

    /// The places of what was taken.
    pub(crate) fn taken(&self) -> &[usize] {
        &self.taken
    }

    /// The whole list again, with the selection as it is now.
    pub(crate) fn put_back(mut self, selected: Vec<Resource>) -> Vec<Resource> {
        if self.slots.is_empty() {
            return selected;
        }
        for (place, resource) in self.taken.iter().zip(selected) {
            if let Some(slot) = self.slots.get_mut(*place) {
                *slot = Some(resource);
            }
        }
        self.slots.into_iter().flatten().collect()
    }

    /// The list with what a function made of its part; resources it did not get come with their place.
    ///
    /// What it did not return is gone, what it generated comes last, and of several with the same number the first counts.
    pub(crate) fn merge(
        self,
        output: Vec<Resource>,
    ) -> Result<Vec<(Resource, Option<usize>)>, EditError> {
        let mut by_id: HashMap<String, Resource> = HashMap::new();
        let mut new = Vec::new();
        for resource in output {
            match resource.annotation(RESOURCE_ID).unwrap_or_default() {
                "" => new.push((resource, None)),
                id => {
                    let id = id.to_owned();
                    by_id.entry(id).or_insert(resource);
                }
            }
        }
        let mut merged = Vec::with_capacity(self.slots.len() + new.len());
        for (place, slot) in self.slots.into_iter().enumerate() {
            match slot {
                Some(resource) => merged.push((resource, Some(place))),
                None => {
                    let returned = by_id.remove(&place.to_string());
                    merged.extend(returned.map(|resource| (resource, None)));
                }
            }
        }
        merged.extend(new);
        for (resource, _) in &mut merged {
            resource.remove_annotation(RESOURCE_ID)?;
        }
        Ok(merged)
    }
}
