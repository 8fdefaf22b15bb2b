//! Counts the memory of all values that a run can still reach.
//!
//! Every shared value is visited once, so the time is proportional to the memory. The temporary values of a native
//! function are not reachable; therefore the machine only counts between two instructions.

use std::collections::HashSet;
use std::rc::Rc;

use crate::builder::STRING_BYTES;
use crate::value::{Repr, Value, int};

/// The bytes of a value in its container.
const VALUE_BYTES: usize = size_of::<Value>();

/// The overhead of an allocation for shared values.
const SHARED_BYTES: usize = 64;

#[derive(Default)]
pub(super) struct Census {
    bytes: usize,
    /// Shared containers that have been counted.
    seen: HashSet<*const ()>,
    /// Containers whose parts are still to be counted.
    pending: Vec<Value>,
    /// How many values have been visited.
    pub(super) count: usize,
}

impl Census {
    pub(super) fn add(&mut self, value: &Value) {
        self.look_at(value);
        while let Some(container) = self.pending.pop() {
            self.look_into(&container);
        }
    }

    pub(super) fn add_all<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        for value in values {
            self.bytes += VALUE_BYTES;
            self.add(value);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Counts a value that shares nothing, and queues one that may contain others.
    fn look_at(&mut self, value: &Value) {
        self.count += 1;
        match &value.0 {
            // Each owner of a shared text counts its share.
            Repr::String(bytes) | Repr::Bytes(bytes) => {
                let owners = Rc::strong_count(bytes).max(1);
                self.bytes += (bytes.len() + STRING_BYTES).div_ceil(owners);
            }
            Repr::Big(big) => self.bytes += int::size(big).div_ceil(Rc::strong_count(big).max(1)),
            Repr::Range(_) => self.bytes += SHARED_BYTES,
            Repr::View(view) => {
                self.bytes += SHARED_BYTES + view.bytes.len();
            }
            Repr::Object(object) => {
                let owners = Rc::strong_count(object).max(1);
                self.bytes += (SHARED_BYTES + object.size()).div_ceil(owners);
            }
            Repr::List(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            Repr::Tuple(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            Repr::Dict(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            Repr::Set(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            Repr::Struct(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            Repr::Function(rc) => {
                self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc))
            }
            Repr::Builtin(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            Repr::Cell(rc) => self.put_aside(value, Rc::as_ptr(rc).cast(), Rc::strong_count(rc)),
            _ => {}
        }
    }

    fn put_aside(&mut self, value: &Value, identity: *const (), owners: usize) {
        if owners == 1 || self.seen.insert(identity) {
            self.bytes += SHARED_BYTES;
            self.pending.push(value.clone());
        }
    }

    fn look_into(&mut self, container: &Value) {
        match &container.0 {
            Repr::List(list) => {
                let elements = list.elements();
                self.bytes += elements.capacity() * VALUE_BYTES;
                elements.iter().for_each(|element| self.look_at(element));
            }
            Repr::Tuple(tuple) => {
                self.bytes += tuple.0.capacity() * VALUE_BYTES;
                tuple.0.iter().for_each(|element| self.look_at(element));
            }
            Repr::Dict(dict) => self.look_into_table(&dict.table()),
            Repr::Set(set) => self.look_into_table(&set.0.table()),
            Repr::Struct(structure) => {
                for (name, value) in structure.fields() {
                    self.bytes += VALUE_BYTES + name.len() + STRING_BYTES;
                    self.look_at(value);
                }
            }
            Repr::Function(function) => {
                self.bytes += (function.defaults.len() + function.free.len()) * VALUE_BYTES;
                function
                    .defaults
                    .iter()
                    .for_each(|value| self.look_at(value));
                for cell in &function.free {
                    self.look_at(&Value(Repr::Cell(Rc::clone(cell))));
                }
            }
            Repr::Builtin(builtin) => builtin
                .receiver
                .iter()
                .for_each(|value| self.look_at(value)),
            Repr::Cell(cell) => self.look_at(&cell.get()),
            _ => {}
        }
    }

    fn look_into_table(&mut self, table: &crate::value::HashTable) {
        self.bytes += table.size();
        for (key, value) in table.iter() {
            self.look_at(key);
            self.look_at(value);
        }
    }
}
