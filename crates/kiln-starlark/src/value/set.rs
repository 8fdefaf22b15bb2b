//! Sets: a dict without values.

use super::table::Table;
use super::{Dict, Value};
use crate::error::Failure;

/// A set, shared by all values that are it.
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

    pub(crate) fn contains(&self, element: &Value) -> Result<bool, Failure> {
        Ok(self.0.table().get(element)?.is_some())
    }

    pub(crate) fn insert(&self, element: Value) -> Result<bool, Failure> {
        self.0.insert(element, Value::NONE)
    }

    pub(crate) fn remove(&self, element: &Value) -> Result<bool, Failure> {
        Ok(self.0.remove(element)?.is_some())
    }

    pub(crate) fn elements(&self) -> Vec<Value> {
        self.0
            .table()
            .iter()
            .map(|(element, _)| element.clone())
            .collect()
    }

    pub(crate) fn copy(&self) -> Result<Set, Failure> {
        let copy = Set(Dict::with_capacity(self.len()));
        for element in self.elements() {
            copy.insert(element)?;
        }
        Ok(copy)
    }

    /// Whether all elements of `other` are in the set.
    pub(crate) fn includes(&self, other: &Table) -> Result<bool, Failure> {
        for (element, _) in other.iter() {
            if !self.contains(element)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn take(self, work: &mut Vec<Value>) {
        self.0.take(work);
    }
}
