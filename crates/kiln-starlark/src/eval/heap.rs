//! Values that may be part of a cycle, which reference counting does not free.

use std::rc::{Rc, Weak};

use crate::value::{Dict, List, Repr, Set, SharedVariable, Value, drop_all};

/// All values of a run that may be part of a cycle. Dropping it empties them.
#[derive(Default)]
pub(crate) struct Heap {
    lists: Tracked<List>,
    dicts: Tracked<Dict>,
    sets: Tracked<Set>,
    cells: Tracked<SharedVariable>,
}

/// Weak references to values. Dead ones are removed from time to time.
struct Tracked<T> {
    values: Vec<Weak<T>>,
    /// The number of values at which dead ones are removed.
    next_sweep: usize,
}

impl<T> Default for Tracked<T> {
    fn default() -> Tracked<T> {
        Tracked {
            values: Vec::new(),
            next_sweep: 1024,
        }
    }
}

impl<T> Tracked<T> {
    fn push(&mut self, value: &Rc<T>) {
        if self.values.len() >= self.next_sweep {
            self.values.retain(|value| value.strong_count() > 0);
            self.next_sweep = 1024.max(self.values.len() * 2);
        }
        self.values.push(Rc::downgrade(value));
    }

    fn live(&self) -> impl Iterator<Item = Rc<T>> {
        self.values.iter().filter_map(Weak::upgrade)
    }
}

impl Heap {
    pub(crate) fn new_cell(&mut self, value: Value) -> Rc<SharedVariable> {
        let cell = Rc::new(SharedVariable::new(value));
        self.cells.push(&cell);
        cell
    }

    /// Records that a list is about to contain an element.
    pub(crate) fn track_list(&mut self, list: &Rc<List>, element: &Value) {
        if is_container(element) && !list.tracked.replace(true) {
            self.lists.push(list);
        }
    }

    /// Records that a dict is about to contain an entry.
    pub(crate) fn track_dict(&mut self, dict: &Rc<Dict>, key: &Value, value: &Value) {
        if (is_container(value) || is_container(key)) && !dict.tracked.replace(true) {
            self.dicts.push(dict);
        }
    }

    /// Records that a set is about to contain an element.
    pub(crate) fn track_set(&mut self, set: &Rc<Set>, element: &Value) {
        if is_container(element) && !set.0.tracked.replace(true) {
            self.sets.push(set);
        }
    }

    /// All recorded values, reachable or not.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        let lists = self.lists.live().map(|list| Value(Repr::List(list)));
        let dicts = self.dicts.live().map(|dict| Value(Repr::Dict(dict)));
        let sets = self.sets.live().map(|set| Value(Repr::Set(set)));
        let cells = self.cells.live().map(|cell| Value(Repr::Cell(cell)));
        lists.chain(dicts).chain(sets).chain(cells)
    }
}

fn is_container(value: &Value) -> bool {
    matches!(
        value.0,
        Repr::List(_)
            | Repr::Dict(_)
            | Repr::Set(_)
            | Repr::Tuple(_)
            | Repr::Function(_)
            | Repr::Builtin(_)
            | Repr::Struct(_)
    )
}

impl Drop for Heap {
    fn drop(&mut self) {
        for cell in self.cells.live() {
            cell.set(Value::UNSET);
        }
        for list in self.lists.live() {
            drop_all(list.change(std::mem::take));
        }
        for dict in self.dicts.live() {
            dict.dismantle();
        }
        for set in self.sets.live() {
            set.0.dismantle();
        }
    }
}
