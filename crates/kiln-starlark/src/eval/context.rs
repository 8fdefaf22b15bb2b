//! The state of a run: its counters, its outputs and what it must clean up.

use std::rc::Rc;

use super::heap::Heap;
use super::machine::Machine;
use crate::compile::{Code, ProgramCode};
use crate::error::{Failure, fail};
use crate::limits::MAX_NATIVE_CALLS;
use crate::usage::Usage;
use crate::value::{Dict, List, Set, Value};

/// What functions of the language and of the host can access while a program runs.
pub struct Context<'a> {
    pub(crate) host: &'a mut Host<'a>,
    pub(crate) usage: &'a Usage<'a>,
    pub(crate) linked: Rc<Linked>,
    pub(crate) heap: Heap,
    /// The depth of calls.
    pub(crate) calls: usize,
    /// The code of those calls, to detect recursion.
    pub(crate) active: Vec<Rc<Code>>,
    pub(super) native_calls: usize,
}

/// The members of a module.
pub type Members = Vec<(String, Value)>;

/// What the host provides.
pub struct Host<'a> {
    /// The counters of the run.
    pub usage: &'a Usage<'a>,
    /// Receives every printed line.
    pub print: &'a mut dyn FnMut(&[u8]),
    /// Loads a module: its members, or an error message.
    pub load: &'a mut dyn FnMut(&str) -> Result<Members, String>,
}

/// A program with the values that its code refers to.
pub(crate) struct Linked {
    pub(crate) code: Rc<ProgramCode>,
    pub(crate) constants: Vec<Value>,
    /// By the index of the name; unset for names that are only attributes.
    pub(crate) predeclared: Vec<Value>,
    pub(crate) universal: Vec<Value>,
    pub(crate) globals: std::cell::RefCell<Vec<Value>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(host: &'a mut Host<'a>, linked: Rc<Linked>) -> Context<'a> {
        Context {
            usage: host.usage,
            host,
            linked,
            heap: Heap::default(),
            calls: 0,
            active: Vec::new(),
            native_calls: 0,
        }
    }

    /// The counters of the run.
    pub fn usage(&self) -> &'a Usage<'a> {
        self.usage
    }

    /// Charges work of a function that the machine does not count.
    pub fn charge(&self, steps: usize) -> Result<(), Failure> {
        self.usage.charge(steps)
    }

    /// Charges memory that is about to be allocated, and the time to fill it.
    pub fn allocate(&self, bytes: usize) -> Result<(), Failure> {
        self.usage.allocate(bytes)
    }

    /// Charges the memory of that many elements of a list or tuple, whose capacity may be twice as large.
    pub(crate) fn allocate_values(&self, count: usize) -> Result<(), Failure> {
        self.allocate(count.saturating_mul(2 * size_of::<Value>()))
    }

    /// Charges the memory of exactly that many elements and of their container.
    pub(crate) fn allocate_exactly(&self, count: usize) -> Result<(), Failure> {
        self.allocate(count.saturating_mul(size_of::<Value>()).saturating_add(64))
    }

    /// Calls a function with positional arguments.
    pub fn call(&mut self, function: &Value, arguments: &[Value]) -> Result<Value, Failure> {
        if self.native_calls >= MAX_NATIVE_CALLS {
            return fail("Starlark stack overflow");
        }
        self.native_calls += 1;
        let result = Machine::default().call_from_outside(self, function, arguments);
        self.native_calls -= 1;
        result
    }

    /// Records that a list may now be part of a cycle.
    pub(crate) fn track_list(&mut self, list: &Rc<List>, element: &Value) {
        self.heap.track_list(list, element);
    }

    /// Records that a dict may now be part of a cycle.
    pub(crate) fn track_dict(&mut self, dict: &Rc<Dict>, key: &Value, value: &Value) {
        self.heap.track_dict(dict, key, value);
    }

    /// Records that a set may now be part of a cycle.
    pub(crate) fn track_set(&mut self, set: &Rc<Set>, element: &Value) {
        self.heap.track_set(set, element);
    }
}
