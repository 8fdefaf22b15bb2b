//! Iterates over the parts of a container.

use super::{Repr, Value};

/// Iterates over the content of a container without copying it: the elements of lists, tuples, sets and ranges, the
/// entries of dicts, the fields of structs.
///
/// The container must not change meanwhile. If it does, entries may be skipped.
pub struct ValueChildren {
    container: Value,
    next: usize,
    returned: usize,
}

/// A part of a container.
pub struct Child {
    /// The key of an entry, or the name of a field; `None` for an element.
    pub key: Option<Value>,
    /// The element, or the value of the entry or field.
    pub value: Value,
}

impl ValueChildren {
    /// The parts of a value; empty if it is not a container.
    pub fn new(container: &Value) -> ValueChildren {
        ValueChildren {
            container: container.clone(),
            next: 0,
            returned: 0,
        }
    }

    pub fn container(&self) -> &Value {
        &self.container
    }

    /// How many parts have been returned.
    pub fn returned(&self) -> usize {
        self.returned
    }
}

impl Iterator for ValueChildren {
    type Item = Child;

    fn next(&mut self) -> Option<Child> {
        let place = self.next;
        let mut next = place + 1;
        let (key, value) = match &self.container.0 {
            Repr::List(list) => (None, list.get(place)?),
            Repr::Tuple(tuple) => (None, tuple.0.get(place)?.clone()),
            Repr::Dict(dict) => {
                let (key, value, behind) = dict.table().entry_from(place)?;
                next = behind;
                (Some(key), value)
            }
            Repr::Set(set) => {
                let (element, _, behind) = set.0.table().entry_from(place)?;
                next = behind;
                (None, element)
            }
            Repr::Range(range) if place < range.length => (None, range.get(place)),
            Repr::View(view) => {
                let (element, behind) = view.at(place)?;
                next = behind;
                (None, element)
            }
            Repr::Struct(structure) => {
                let (name, value) = structure.field_at(place)?;
                (Some(Value::string(name)), value.clone())
            }
            _ => return None,
        };
        self.next = next;
        self.returned += 1;
        Some(Child { key, value })
    }
}
