//! Sets: a dict without values.

use super::table::HashTable;
use super::{Dict, Value};
use crate::error::Failure;
use crate::usage::Usage;

/// A set, shared by all its values.
#[derive(Default)]
pub struct Set(pub(crate) Dict);

impl Set {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, usage: &Usage<'_>, element: &Value) -> Result<bool, Failure> {
        Ok(self.0.table().get(usage, element)?.is_some())
    }

    pub(crate) fn insert(&self, usage: &Usage<'_>, element: Value) -> Result<bool, Failure> {
        self.0.insert(usage, element, Value::NONE)
    }

    pub(crate) fn remove(&self, usage: &Usage<'_>, element: &Value) -> Result<bool, Failure> {
        Ok(self.0.remove(usage, element)?.is_some())
    }

    pub(crate) fn copy(&self, usage: &Usage<'_>) -> Result<Set, Failure> {
        let copy = Set::default();
        for (element, _) in self.0.table().iter() {
            copy.insert(usage, element.clone())?;
        }
        Ok(copy)
    }

    /// Whether all elements of `other` are in the set.
    pub(crate) fn includes(&self, usage: &Usage<'_>, other: &HashTable) -> Result<bool, Failure> {
        for (element, _) in other.iter() {
            if !self.contains(usage, element)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn take(self, work: &mut Vec<Value>) {
        self.0.take(work);
    }
}
