//! Lists.

use std::cell::{Cell, Ref, RefCell};

use super::{Value, drop_all};
use crate::error::{Failure, fail};

/// A list, shared by all its values.
pub struct List {
    elements: RefCell<Vec<Value>>,
    iterators: Cell<u32>,
    /// Whether the run has recorded that the list may be part of a cycle.
    pub(crate) tracked: Cell<bool>,
}

impl List {
    pub(crate) fn new(elements: Vec<Value>) -> List {
        List {
            elements: RefCell::new(elements),
            iterators: Cell::new(0),
            tracked: Cell::new(false),
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.elements.borrow().len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.borrow().is_empty()
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<Value> {
        self.elements.borrow().get(index).cloned()
    }

    /// Appends an element, even during an iteration.
    pub fn push(&self, element: Value) {
        self.elements.borrow_mut().push(element);
    }

    /// All elements. The list cannot be changed while they are borrowed.
    pub fn elements(&self) -> Ref<'_, Vec<Value>> {
        self.elements.borrow()
    }

    pub(crate) fn to_vec(&self) -> Vec<Value> {
        self.elements.borrow().clone()
    }

    /// Fails during an iteration; `verb` is the attempted operation.
    pub(crate) fn check_mutable(&self, verb: &str) -> Result<(), Failure> {
        if self.iterators.get() > 0 {
            return fail(format!("cannot {verb} list during iteration"));
        }
        Ok(())
    }

    /// Changes the elements. The caller has called [`List::check_mutable`].
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Vec<Value>) -> T) -> T {
        change(&mut self.elements.borrow_mut())
    }

    pub(crate) fn start_iteration(&self) {
        self.iterators.set(self.iterators.get().saturating_add(1));
    }

    pub(crate) fn end_iteration(&self) {
        self.iterators.set(self.iterators.get().saturating_sub(1));
    }

    pub(super) fn take(self) -> Vec<Value> {
        self.elements.take()
    }
}

impl Drop for List {
    fn drop(&mut self) {
        drop_all(self.elements.take());
    }
}
