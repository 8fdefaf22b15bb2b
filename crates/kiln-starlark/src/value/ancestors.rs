//! The containers around a value during a walk.

use std::collections::HashSet;
use std::rc::Rc;

use super::{Repr, Value};

/// Detects whether a value contains itself, in constant time regardless of its depth.
#[derive(Default)]
pub struct Ancestors {
    path: Vec<*const ()>,
    /// The same, once the path is long.
    set: HashSet<*const ()>,
}

/// Up to that many ancestors are searched linearly.
const SHORT: usize = 16;

impl Ancestors {
    /// Enters a container. Returns false, and does not enter it, if the value is its own ancestor. A tuple has an
    /// identity too, but contains itself only through one of the others.
    pub fn enter(&mut self, container: &Value) -> bool {
        let identity = identity(container);
        let is_known = !identity.is_null()
            && match self.path.len() <= SHORT {
                true => self.path.contains(&identity),
                false => self.set.contains(&identity),
            };
        if is_known {
            return false;
        }
        self.path.push(identity);
        if self.path.len() == SHORT + 1 {
            self.set = self.path.iter().copied().collect();
        } else if self.path.len() > SHORT {
            self.set.insert(identity);
        }
        true
    }

    /// Leaves the container that was entered last.
    pub fn leave(&mut self) {
        if let Some(identity) = self.path.pop()
            && !identity.is_null()
        {
            self.set.remove(&identity);
        }
    }

    /// The number of enclosing containers.
    pub fn len(&self) -> usize {
        self.path.len()
    }

    /// Whether there is no enclosing container.
    pub fn is_empty(&self) -> bool {
        self.path.is_empty()
    }
}

/// The address of a container; null for values that cannot contain themselves.
fn identity(value: &Value) -> *const () {
    match &value.0 {
        Repr::List(list) => Rc::as_ptr(list).cast(),
        Repr::Dict(dict) => Rc::as_ptr(dict).cast(),
        Repr::Set(set) => Rc::as_ptr(set).cast(),
        _ => std::ptr::null(),
    }
}
