//! Iterates over the elements of a value.

use std::rc::Rc;

use super::{Dict, List, Range, Repr, Tuple, Value, View};

/// An active iteration. While it exists, its list, dict or set cannot change.
pub(crate) struct Iter {
    source: IterSource,
    next: usize,
}

enum IterSource {
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    Set(Rc<super::Set>),
    Range(Rc<Range>),
    View(Rc<View>),
}

impl Iter {
    /// Starts an iteration, if the value is iterable. A string is not.
    pub(crate) fn new(value: &Value) -> Option<Iter> {
        let source = match &value.0 {
            Repr::List(list) => {
                list.start_iteration();
                IterSource::List(Rc::clone(list))
            }
            Repr::Tuple(tuple) => IterSource::Tuple(Rc::clone(tuple)),
            Repr::Dict(dict) => {
                dict.start_iteration();
                IterSource::Dict(Rc::clone(dict))
            }
            Repr::Set(set) => {
                set.0.start_iteration();
                IterSource::Set(Rc::clone(set))
            }
            Repr::Range(range) => IterSource::Range(Rc::clone(range)),
            Repr::View(view) => IterSource::View(Rc::clone(view)),
            _ => return None,
        };
        Some(Iter { source, next: 0 })
    }

    /// The value that is iterated over.
    pub(crate) fn source(&self) -> Value {
        Value(match &self.source {
            IterSource::List(list) => Repr::List(Rc::clone(list)),
            IterSource::Tuple(tuple) => Repr::Tuple(Rc::clone(tuple)),
            IterSource::Dict(dict) => Repr::Dict(Rc::clone(dict)),
            IterSource::Set(set) => Repr::Set(Rc::clone(set)),
            IterSource::Range(range) => Repr::Range(Rc::clone(range)),
            IterSource::View(view) => Repr::View(Rc::clone(view)),
        })
    }

    /// The bytes that every step allocates: those of a new string, or zero.
    pub(crate) fn new_bytes(&self) -> usize {
        match &self.source {
            IterSource::View(_) => crate::builder::STRING_BYTES,
            _ => 0,
        }
    }
}

impl Iterator for Iter {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let (value, next) = match &self.source {
            IterSource::List(list) => (list.get(self.next)?, self.next + 1),
            IterSource::Tuple(tuple) => (tuple.0.get(self.next)?.clone(), self.next + 1),
            IterSource::Dict(dict) => dict.table().key_from(self.next)?,
            IterSource::Set(set) => set.0.table().key_from(self.next)?,
            IterSource::Range(range) if self.next < range.length => {
                (range.get(self.next), self.next + 1)
            }
            IterSource::Range(_) => return None,
            IterSource::View(view) => view.at(self.next)?,
        };
        self.next = next;
        Some(value)
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        match &self.source {
            IterSource::List(list) => list.end_iteration(),
            IterSource::Dict(dict) => dict.end_iteration(),
            IterSource::Set(set) => set.0.end_iteration(),
            _ => {}
        }
    }
}
