//! What a run carries along: its budget, its outputs and what it must clean up.

use std::rc::{Rc, Weak};

use super::machine::Machine;
use crate::compile::{Code, ProgramCode};
use crate::error::{Failure, fail};
use crate::limits::{Limits, MAX_NATIVE_CALLS};
use crate::value::{Dict, List, Repr, Slot, Value};

/// What functions of the language and of the host may use while a program runs.
pub struct Context<'a> {
    pub(crate) world: &'a mut World<'a>,
    pub(crate) linked: Rc<Linked>,
    pub(crate) heap: Heap,
    steps: u64,
    /// When to look at the budget and at the clock of the caller.
    next_check: u64,
    bytes: u64,
    /// How many calls are under way.
    pub(crate) calls: usize,
    /// The code of those calls, where a function must not call itself.
    pub(crate) active: Vec<Rc<Code>>,
    native_calls: usize,
}

/// Names with values: what a module has.
pub type Members = Vec<(String, Value)>;

/// What the host provides.
pub struct World<'a> {
    /// Bounds on the run.
    pub limits: Limits,
    /// Gets every line that is printed.
    pub print: &'a mut dyn FnMut(&[u8]),
    /// Finds a module: its names with their values, or why there is none.
    pub load: &'a mut dyn FnMut(&str) -> Result<Members, String>,
    /// Asked now and then whether to stop, and why.
    pub interrupt: &'a mut dyn FnMut() -> Option<String>,
}

/// A program with the values that its code refers to.
pub(crate) struct Linked {
    pub(crate) code: Rc<ProgramCode>,
    pub(crate) constants: Vec<Value>,
    /// By the number of the name; unset where a name is only an attribute.
    pub(crate) predeclared: Vec<Value>,
    pub(crate) universal: Vec<Value>,
    pub(crate) globals: std::cell::RefCell<Vec<Value>>,
}

/// How many steps are taken between two looks at the budget.
const CHECK_INTERVAL: u64 = 1 << 12;

impl<'a> Context<'a> {
    pub(crate) fn new(world: &'a mut World<'a>, linked: Rc<Linked>) -> Context<'a> {
        Context {
            world,
            linked,
            heap: Heap::default(),
            steps: 0,
            next_check: CHECK_INTERVAL,
            bytes: 0,
            calls: 0,
            active: Vec::new(),
            native_calls: 0,
        }
    }

    /// Counts a step.
    pub(crate) fn step(&mut self) -> Result<(), Failure> {
        self.steps += 1;
        if self.steps < self.next_check {
            return Ok(());
        }
        self.look_around()
    }

    /// Counts work of a function that the machine does not see.
    pub fn charge(&mut self, steps: usize) -> Result<(), Failure> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps < self.next_check {
            return Ok(());
        }
        self.look_around()
    }

    fn look_around(&mut self) -> Result<(), Failure> {
        if self.steps >= self.world.limits.steps {
            return fail("Starlark computation cancelled: too many steps");
        }
        if let Some(reason) = (self.world.interrupt)() {
            return fail(format!("Starlark computation cancelled: {reason}"));
        }
        self.next_check = (self.steps + CHECK_INTERVAL).min(self.world.limits.steps);
        Ok(())
    }

    /// Counts memory that is about to be allocated, and the time that filling it takes.
    pub fn allocate(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.world.limits.bytes {
            let limit = self.world.limits.bytes;
            return fail(format!(
                "Starlark computation cancelled: too much memory (limit is {limit} bytes)"
            ));
        }
        self.charge(bytes / 64)
    }

    /// Counts the memory of so many elements.
    pub(crate) fn allocate_values(&mut self, count: usize) -> Result<(), Failure> {
        self.allocate(count.saturating_mul(size_of::<Value>()))
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

    /// Notes that a list may now be part of a cycle.
    pub(crate) fn track_list(&mut self, list: &Rc<List>, element: &Value) {
        if is_container(element) && !list.tracked.replace(true) {
            self.heap.lists.push(Rc::downgrade(list));
        }
    }

    /// Notes that a dict may now be part of a cycle.
    pub(crate) fn track_dict(&mut self, dict: &Rc<Dict>, value: &Value) {
        if is_container(value) && !dict.tracked.replace(true) {
            self.heap.dicts.push(Rc::downgrade(dict));
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(
        value.0,
        Repr::List(_)
            | Repr::Dict(_)
            | Repr::Tuple(_)
            | Repr::Function(_)
            | Repr::Builtin(_)
            | Repr::Struct(_)
    )
}

/// Everything of a run that may be part of a cycle, and so would not be freed by itself.
///
/// Dropping it takes those values apart.
#[derive(Default)]
pub(crate) struct Heap {
    lists: Vec<Weak<List>>,
    dicts: Vec<Weak<Dict>>,
    cells: Vec<Weak<Slot>>,
}

impl Heap {
    pub(crate) fn new_cell(&mut self, value: Value) -> Rc<Slot> {
        let cell = Rc::new(Slot::new(value));
        self.cells.push(Rc::downgrade(&cell));
        if self.cells.len().is_power_of_two() && self.cells.len() > 1024 {
            self.cells.retain(|cell| cell.strong_count() > 0);
        }
        cell
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        for cell in self.cells.drain(..).filter_map(|cell| cell.upgrade()) {
            cell.set(Value::UNSET);
        }
        for list in self.lists.drain(..).filter_map(|list| list.upgrade()) {
            let elements = list.change(std::mem::take);
            crate::value::drop_all(elements);
        }
        for dict in self.dicts.drain(..).filter_map(|dict| dict.upgrade()) {
            dict.dismantle();
        }
    }
}
