//! Taking selected resources out of a list and putting the output of a function back in their positions.

use std::collections::HashMap;

use kiln_krm::Resource;
use kiln_krm::annotations::RESOURCE_ID;
use kiln_yaml::EditError;

/// Numbers all resources, so that the output of a function can be put back in order.
pub(crate) fn set_resource_ids(resources: &mut [Resource]) -> Result<(), EditError> {
    for (index, resource) in resources.iter_mut().enumerate() {
        resource.set_annotation(RESOURCE_ID, &index.to_string())?;
    }
    Ok(())
}

/// The resources that a function does not get, with gaps for those it gets.
#[derive(Default)]
pub(crate) struct Unselected {
    slots: Vec<Option<Resource>>,
    taken: Vec<usize>,
}

impl Unselected {
    /// Takes the resources with these indices out of the list; an index may occur several times in a row.
    pub(crate) fn split(
        resources: Vec<Resource>,
        taken: Vec<usize>,
    ) -> (Vec<Resource>, Unselected) {
        let mut slots: Vec<Option<Resource>> = resources.into_iter().map(Some).collect();
        let mut selected: Vec<Resource> = Vec::with_capacity(taken.len());
        for index in &taken {
            match slots.get_mut(*index).and_then(Option::take) {
                Some(resource) => selected.push(resource),
                None => selected.extend(selected.last().cloned()),
            }
        }
        (selected, Unselected { slots, taken })
    }

    /// A resource that was not selected.
    pub(crate) fn get(&self, index: usize) -> Option<&Resource> {
        self.slots.get(index).and_then(Option::as_ref)
    }

    /// The indices of the selected resources.
    pub(crate) fn taken(&self) -> &[usize] {
        &self.taken
    }

    /// The whole list with the selected resources as they are now.
    pub(crate) fn put_back(mut self, selected: Vec<Resource>) -> Vec<Resource> {
        if self.slots.is_empty() {
            return selected;
        }
        for (index, resource) in self.taken.iter().zip(selected) {
            if let Some(slot) = self.slots.get_mut(*index) {
                *slot = Some(resource);
            }
        }
        self.slots.into_iter().flatten().collect()
    }

    /// The list with the output of the function; resources that it did not get come with their index.
    ///
    /// Resources that it did not return are dropped, new ones come last, and of several with the same number the first
    /// is kept.
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
        for (index, slot) in self.slots.into_iter().enumerate() {
            match slot {
                Some(resource) => merged.push((resource, Some(index))),
                None => {
                    let returned = by_id.remove(&index.to_string());
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
