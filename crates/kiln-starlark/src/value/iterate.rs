//! Going over the elements of a value.

use std::rc::Rc;

use super::{Dict, List, Range, Repr, Tuple, Value, View};

/// An iteration under way. While it lives, its list, dict or set does not change.
pub(crate) struct Iter {
    source: Source,
    next: usize,
}

enum Source {
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    Set(Rc<super::Set>),
    Range(Rc<Range>),
    View(Rc<View>),
}

impl Iter {
    /// Starts an iteration, if the value can be iterated over. A string cannot.
    pub(crate) fn new(value: &Value) -> Option<Iter> {
        let source = match &value.0 {
            Repr::List(list) => {
                list.start_iteration();
                Source::List(Rc::clone(list))
            }
            Repr::Tuple(tuple) => Source::Tuple(Rc::clone(tuple)),
            Repr::Dict(dict) => {
                dict.start_iteration();
                Source::Dict(Rc::clone(dict))
            }
            Repr::Set(set) => {
                set.0.start_iteration();
                Source::Set(Rc::clone(set))
            }
            Repr::Range(range) => Source::Range(Rc::clone(range)),
            Repr::View(view) => Source::View(Rc::clone(view)),
            _ => return None,
        };
        Some(Iter { source, next: 0 })
    }

    /// What is iterated over.
    pub(crate) fn source(&self) -> Value {
        Value(match &self.source {
            Source::List(list) => Repr::List(Rc::clone(list)),
            Source::Tuple(tuple) => Repr::Tuple(Rc::clone(tuple)),
            Source::Dict(dict) => Repr::Dict(Rc::clone(dict)),
            Source::Set(set) => Repr::Set(Rc::clone(set)),
            Source::Range(range) => Repr::Range(Rc::clone(range)),
            Source::View(view) => Repr::View(Rc::clone(view)),
        })
    }

    /// How many bytes every step of the iteration allocates: those of a new string, or none.
    pub(crate) fn new_bytes(&self) -> usize {
        match &self.source {
            Source::View(_) => crate::builder::STRING_BYTES,
            _ => 0,
        }
    }
}

impl Iterator for Iter {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let (value, next) = match &self.source {
            Source::List(list) => (list.get(self.next)?, self.next + 1),
            Source::Tuple(tuple) => (tuple.0.get(self.next)?.clone(), self.next + 1),
            Source::Dict(dict) => dict.table().key_from(self.next)?,
            Source::Set(set) => set.0.table().key_from(self.next)?,
            Source::Range(range) if self.next < range.length => {
                (range.get(self.next), self.next + 1)
            }
            Source::Range(_) => return None,
            Source::View(view) => view.at(self.next)?,
        };
        self.next = next;
        Some(value)
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        match &self.source {
            Source::List(list) => list.end_iteration(),
            Source::Dict(dict) => dict.end_iteration(),
            Source::Set(set) => set.0.end_iteration(),
            _ => {}
        }
    }
}
