//! The JavaScript values that a Go program holds.
//!
//! Objects live in an arena of the call and are freed with it, or earlier if only Go referred to them. Everything that the
//! module makes the host hold is counted towards its memory limit.

use std::collections::{BTreeMap, HashMap};

use crate::host::{MemoryBudget, SharedText, Stop};

/// A JavaScript value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum JsValue {
    Undefined,
    Null,
    Boolean(bool),
    Number(f64),
    Text(SharedText),
    Object(ObjectId),
}

/// An object of the arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ObjectId(u32);

pub(super) struct JsObject {
    pub(super) kind: JsKind,
    pub(super) properties: BTreeMap<SharedText, JsValue>,
    /// Whether another object or the host refers to it, so that it stays when Go drops it.
    is_kept: bool,
    /// The bytes that are counted for it.
    charged: u64,
}

pub(super) enum JsKind {
    Plain,
    Array(Vec<JsValue>),
    Bytes(Vec<u8>),
    Builtin(super::builtins::JsBuiltin),
    /// A function of the Go program, by its number there.
    GoFunction(f64),
}

/// All values of a call.
pub(crate) struct GoValues {
    objects: Vec<Option<JsObject>>,
    free_objects: Vec<u32>,
    references: Vec<Option<Reference>>,
    free_references: Vec<u32>,
    reference_of_object: HashMap<ObjectId, u32>,
    reference_of_text: HashMap<SharedText, u32>,
    budget: MemoryBudget,
    pub(super) global: ObjectId,
    pub(super) go: ObjectId,
    pub(super) timers: Timers,
}

/// A value that the Go program refers to by a number, and how often.
struct Reference {
    value: JsValue,
    count: u64,
}

/// Timeouts that the Go program waits for, by number, with their time of the monotonic clock.
#[derive(Default)]
pub(super) struct Timers {
    pub(super) next: u32,
    pub(super) due: BTreeMap<u32, u64>,
}

/// The head of a 64-bit number that is a reference.
const REFERENCE_HEAD: u64 = 0x7ff8_0000;

/// The numbers of values that every program knows.
const NAN: u32 = 0;
const ZERO: u32 = 1;
const NULL: u32 = 2;
const TRUE: u32 = 3;
const FALSE: u32 = 4;
const GLOBAL: u32 = 5;
const GO: u32 = 6;

/// What an object, a property, an element or a reference is counted as.
const OVERHEAD: u64 = 128;

/// The most timers that may wait.
const MAX_TIMERS: usize = 100_000;

impl GoValues {
    /// The values that exist before the program runs; only others count.
    pub(crate) fn new(budget: MemoryBudget) -> GoValues {
        let mut values = GoValues {
            objects: Vec::new(),
            free_objects: Vec::new(),
            references: Vec::new(),
            free_references: Vec::new(),
            reference_of_object: HashMap::new(),
            reference_of_text: HashMap::new(),
            budget: MemoryBudget::new(u64::MAX),
            global: ObjectId(0),
            go: ObjectId(1),
            timers: Timers::default(),
        };
        super::builtins::define(&mut values);
        let known = [
            JsValue::Number(f64::NAN),
            JsValue::Number(0.0),
            JsValue::Null,
            JsValue::Boolean(true),
            JsValue::Boolean(false),
            JsValue::Object(values.global),
            JsValue::Object(values.go),
        ];
        let forever = |value| {
            Some(Reference {
                value,
                count: u64::MAX,
            })
        };
        values.references = known.into_iter().map(forever).collect();
        values.reference_of_object.insert(values.global, GLOBAL);
        values.reference_of_object.insert(values.go, GO);
        values.budget = budget;
        values
    }

    /// Adds an object. `size` is what its kind takes.
    pub(super) fn add(&mut self, kind: JsKind, size: u64) -> Result<ObjectId, Stop> {
        let charged = OVERHEAD.saturating_add(size);
        self.budget.take(charged)?;
        let object = Some(JsObject {
            kind,
            properties: BTreeMap::new(),
            is_kept: false,
            charged,
        });
        if let Some(free) = self.free_objects.pop()
            && let Some(slot) = self.objects.get_mut(free as usize)
        {
            *slot = object;
            return Ok(ObjectId(free));
        }
        let id = ObjectId(self.objects.len() as u32);
        self.objects.push(object);
        Ok(id)
    }

    pub(super) fn add_bytes(&mut self, length: u64) -> Result<ObjectId, Stop> {
        // Before the memory is taken.
        if length > self.budget.left() {
            return Err(Stop::OverMemory);
        }
        let length_here = usize::try_from(length).map_err(|_| Stop::OverMemory)?;
        self.add(JsKind::Bytes(vec![0; length_here]), length)
    }

    pub(super) fn add_array(&mut self, items: Vec<JsValue>) -> Result<ObjectId, Stop> {
        for item in &items {
            self.keep(item);
        }
        let size = items.iter().map(size_of).fold(0u64, u64::saturating_add);
        self.add(JsKind::Array(items), size)
    }

    pub(super) fn object(&self, id: ObjectId) -> Option<&JsObject> {
        self.objects.get(id.0 as usize)?.as_ref()
    }

    pub(super) fn object_mut(&mut self, id: ObjectId) -> Option<&mut JsObject> {
        self.objects.get_mut(id.0 as usize)?.as_mut()
    }

    /// Keeps an object that something besides Go refers to.
    pub(super) fn keep(&mut self, value: &JsValue) {
        if let JsValue::Object(id) = value
            && let Some(object) = self.object_mut(*id)
        {
            object.is_kept = true;
        }
    }

    pub(super) fn property(&self, id: ObjectId, name: &str) -> JsValue {
        let object = self.object(id);
        let value = object.and_then(|object| object.properties.get(name));
        value.cloned().unwrap_or(JsValue::Undefined)
    }

    pub(super) fn set_property(
        &mut self,
        id: ObjectId,
        name: &str,
        value: JsValue,
    ) -> Result<(), Stop> {
        let size = size_of(&value).saturating_add(name.len() as u64);
        self.budget.take(size)?;
        self.keep(&value);
        let Some(object) = self.object_mut(id) else {
            return Ok(());
        };
        object.charged = object.charged.saturating_add(size);
        let replaced = object.properties.insert(SharedText::from(name), value);
        if let Some(replaced) = replaced {
            self.refund(id, size_of(&replaced).saturating_add(name.len() as u64));
        }
        Ok(())
    }

    pub(super) fn delete_property(&mut self, id: ObjectId, name: &str) {
        let removed = self
            .object_mut(id)
            .and_then(|object| object.properties.remove(name));
        if let Some(removed) = removed {
            self.refund(id, size_of(&removed).saturating_add(name.len() as u64));
        }
    }

    /// Sets an element of an array or of bytes. There are no holes: an index may be at most one past the end of an array.
    pub(super) fn set_element(
        &mut self,
        id: ObjectId,
        index: usize,
        value: JsValue,
    ) -> Result<(), Stop> {
        match self.object_mut(id).map(|object| &mut object.kind) {
            Some(JsKind::Array(items)) if index <= items.len() => {
                self.set_item(id, index, value)?;
            }
            Some(JsKind::Bytes(bytes)) => {
                if let (Some(byte), JsValue::Number(number)) = (bytes.get_mut(index), value) {
                    *byte = number as i64 as u8;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn set_item(&mut self, id: ObjectId, index: usize, value: JsValue) -> Result<(), Stop> {
        let size = size_of(&value);
        self.budget.take(size)?;
        self.keep(&value);
        let Some(object) = self.object_mut(id) else {
            return Ok(());
        };
        object.charged = object.charged.saturating_add(size);
        let JsKind::Array(items) = &mut object.kind else {
            return Ok(());
        };
        match items.get_mut(index) {
            Some(item) => {
                let replaced = std::mem::replace(item, value);
                self.refund(id, size_of(&replaced));
            }
            None => items.push(value),
        }
        Ok(())
    }

    fn refund(&mut self, id: ObjectId, size: u64) {
        if let Some(object) = self.object_mut(id) {
            object.charged = object.charged.saturating_sub(size);
        }
        self.budget.give_back(size);
    }

    /// The value that 64 bits of the program's memory stand for.
    pub(super) fn load(&self, bits: u64) -> JsValue {
        let number = f64::from_bits(bits);
        if number == 0.0 {
            return JsValue::Undefined;
        }
        if !number.is_nan() {
            return JsValue::Number(number);
        }
        let reference = self.references.get(bits as u32 as usize);
        let reference = reference.and_then(Option::as_ref);
        reference.map_or(JsValue::Undefined, |reference| reference.value.clone())
    }

    /// The 64 bits that stand for a value in the program's memory. A reference is counted.
    pub(super) fn store(&mut self, value: JsValue) -> Result<u64, Stop> {
        let reference = |kind: u64, number: u32| (REFERENCE_HEAD | kind) << 32 | u64::from(number);
        Ok(match value {
            JsValue::Undefined => 0,
            JsValue::Null => reference(0, NULL),
            JsValue::Boolean(true) => reference(0, TRUE),
            JsValue::Boolean(false) => reference(0, FALSE),
            JsValue::Number(number) if number.is_nan() => reference(0, NAN),
            JsValue::Number(0.0) => reference(0, ZERO),
            JsValue::Number(number) => number.to_bits(),
            JsValue::Text(text) => {
                let number = self.refer(JsValue::Text(text))?;
                reference(2, number)
            }
            JsValue::Object(id) => {
                let kind = match self.object(id).map(|object| &object.kind) {
                    Some(JsKind::Builtin(_) | JsKind::GoFunction(_)) => 4,
                    _ => 1,
                };
                let number = self.refer(JsValue::Object(id))?;
                reference(kind, number)
            }
        })
    }

    /// The number of a text or object.
    fn refer(&mut self, value: JsValue) -> Result<u32, Stop> {
        let known = match &value {
            JsValue::Object(id) => self.reference_of_object.get(id).copied(),
            JsValue::Text(text) => self.reference_of_text.get(text).copied(),
            _ => None,
        };
        if let Some(known) = known
            && let Some(Some(reference)) = self.references.get_mut(known as usize)
        {
            reference.count = reference.count.saturating_add(1);
            return Ok(known);
        }
        self.budget.take(size_of(&value))?;
        let number = match self.free_references.pop() {
            Some(number) => number,
            None => {
                self.references.push(None);
                (self.references.len() - 1) as u32
            }
        };
        match &value {
            JsValue::Object(id) => drop(self.reference_of_object.insert(*id, number)),
            JsValue::Text(text) => drop(
                self.reference_of_text
                    .insert(SharedText::clone(text), number),
            ),
            _ => {}
        }
        if let Some(slot) = self.references.get_mut(number as usize) {
            *slot = Some(Reference { value, count: 1 });
        }
        Ok(number)
    }

    /// The program no longer uses a reference.
    pub(super) fn release(&mut self, number: u32) {
        let Some(slot) = self.references.get_mut(number as usize) else {
            return;
        };
        let Some(reference) = slot else {
            return;
        };
        if reference.count == u64::MAX {
            return;
        }
        reference.count -= 1;
        if reference.count > 0 {
            return;
        }
        let Some(Reference { value, .. }) = slot.take() else {
            return;
        };
        self.free_references.push(number);
        self.budget.give_back(size_of(&value));
        match value {
            JsValue::Text(text) => drop(self.reference_of_text.remove(&text)),
            JsValue::Object(id) => {
                self.reference_of_object.remove(&id);
                self.free(id);
            }
            _ => {}
        }
    }

    /// Frees an object that only Go referred to.
    fn free(&mut self, id: ObjectId) {
        let Some(slot) = self.objects.get_mut(id.0 as usize) else {
            return;
        };
        if slot.as_ref().is_some_and(|object| !object.is_kept)
            && let Some(object) = slot.take()
        {
            self.budget.give_back(object.charged);
            self.free_objects.push(id.0);
        }
    }

    /// Adds a timer that is due at a time of the monotonic clock.
    pub(super) fn add_timer(&mut self, due: u64) -> Result<u32, Stop> {
        if self.timers.due.len() >= MAX_TIMERS {
            return Err(Stop::Trap("the module started too many timers".to_owned()));
        }
        self.timers.next = self.timers.next.wrapping_add(1);
        self.timers.due.insert(self.timers.next, due);
        Ok(self.timers.next)
    }

    /// Removes the timer that is due first; returns its time.
    pub(super) fn take_first_timer(&mut self) -> Option<u64> {
        let (&number, &due) = self.timers.due.iter().min_by_key(|(_, due)| **due)?;
        self.timers.due.remove(&number);
        Some(due)
    }
}

/// What a value is counted as where it is stored.
fn size_of(value: &JsValue) -> u64 {
    match value {
        JsValue::Text(text) => OVERHEAD.saturating_add(text.len() as u64),
        _ => OVERHEAD,
    }
}

#[cfg(test)]
mod tests;
