//! Dicts: values by key, in insertion order.

use std::cell::{Cell, Ref, RefCell};

use super::table::HashTable;
use super::{Value, drop_all};
use crate::error::{Failure, fail};
use crate::usage::Usage;

/// A dict, shared by all its values.
#[derive(Default)]
pub struct Dict {
    table: RefCell<HashTable>,
    iterators: Cell<u32>,
    /// Whether the run has recorded that the dict may be part of a cycle.
    pub(crate) tracked: Cell<bool>,
}

impl Dict {
    /// A dict with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Dict {
        Dict {
            table: RefCell::new(HashTable::with_capacity(capacity)),
            iterators: Cell::new(0),
            tracked: Cell::new(false),
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.table.borrow().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get_str(&self, key: &str) -> Option<Value> {
        self.table.borrow().get_str(key.as_bytes()).cloned()
    }

    /// Sets the value of a string key, even during an iteration.
    pub fn set_str(&self, key: &str, value: Value) {
        let key = Value::string(key);
        // Strings are hashable, so this cannot fail.
        let _old = self
            .table
            .borrow_mut()
            .insert(&Usage::unlimited(), key, value);
    }

    /// Sets the value of any key, even during an iteration. Fails if the key is not hashable.
    pub fn set(&self, usage: &Usage<'_>, key: Value, value: Value) -> Result<(), Failure> {
        let old = self.table.borrow_mut().insert(usage, key, value)?;
        drop(old);
        Ok(())
    }

    /// All entries in order, keys with values.
    pub fn items(&self) -> Vec<(Value, Value)> {
        let table = self.table.borrow();
        table
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    pub(crate) fn get(&self, usage: &Usage<'_>, key: &Value) -> Result<Option<Value>, Failure> {
        Ok(self.table.borrow().get(usage, key)?.cloned())
    }

    pub(crate) fn insert(
        &self,
        usage: &Usage<'_>,
        key: Value,
        value: Value,
    ) -> Result<bool, Failure> {
        self.check_mutable("insert into")?;
        let old = self.table.borrow_mut().insert(usage, key, value)?;
        let is_new = old.is_none();
        drop(old);
        Ok(is_new)
    }

    pub(crate) fn remove(&self, usage: &Usage<'_>, key: &Value) -> Result<Option<Value>, Failure> {
        self.check_mutable("delete from")?;
        if self.is_empty() {
            return Ok(None);
        }
        let removed = self.table.borrow_mut().remove(usage, key)?;
        Ok(removed.map(|(_, value)| value))
    }

    pub(crate) fn clear(&self) -> Result<(), Failure> {
        self.check_mutable("clear")?;
        let mut work = Vec::new();
        std::mem::take(&mut *self.table.borrow_mut()).take(&mut work);
        drop_all(work);
        Ok(())
    }

    pub(crate) fn first_key(&self) -> Option<Value> {
        self.table
            .borrow()
            .iter()
            .next()
            .map(|(key, _)| key.clone())
    }

    /// The entries. The dict cannot be changed while they are borrowed.
    pub(crate) fn table(&self) -> Ref<'_, HashTable> {
        self.table.borrow()
    }

    /// Fails during an iteration; `verb` is the attempted operation.
    pub(crate) fn check_mutable(&self, verb: &str) -> Result<(), Failure> {
        if self.iterators.get() > 0 {
            return fail(format!("cannot {verb} hash table during iteration"));
        }
        Ok(())
    }

    pub(crate) fn start_iteration(&self) {
        self.iterators.set(self.iterators.get().saturating_add(1));
    }

    pub(crate) fn end_iteration(&self) {
        self.iterators.set(self.iterators.get().saturating_sub(1));
    }

    pub(super) fn take(self, work: &mut Vec<Value>) {
        self.table.take().take(work);
    }

    /// Empties the dict, even during an iteration.
    pub(crate) fn dismantle(&self) {
        let mut work = Vec::new();
        self.table.take().take(&mut work);
        drop_all(work);
    }
}

impl Drop for Dict {
    fn drop(&mut self) {
        self.dismantle();
    }
}
