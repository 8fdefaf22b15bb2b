//! The hash table of dicts and sets.
//!
//! Entries are stored in one vector in insertion order. A few entries are searched linearly; more get an index. A
//! removed entry leaves a hole until there are enough holes to compact.

use super::hash::{check_hashable, hash};
use super::{Repr, Value, equal};
use crate::error::Failure;
use crate::usage::Usage;

/// Up to that many entries there is no index.
const SMALL: usize = 8;
const FREE: u32 = u32::MAX;

/// The bytes of an entry: a vector has a capacity of up to twice as many, and an index of four times as many numbers.
pub(crate) const ENTRY_BYTES: usize = 2 * size_of::<TableEntry>() + 4 * size_of::<u32>();

#[derive(Default)]
pub(crate) struct HashTable {
    entries: Vec<TableEntry>,
    live: usize,
    /// How many holes come before all entries, so that removing the first one repeatedly is cheap.
    head: usize,
    /// Indices of entries by hash, with a power of two as length; empty if there is no index.
    index: Vec<u32>,
}

struct TableEntry {
    /// Valid only if there is an index.
    hash: u64,
    /// Unset in a hole.
    key: Value,
    value: Value,
}

impl HashTable {
    pub(crate) fn with_capacity(capacity: usize) -> HashTable {
        HashTable {
            entries: Vec::with_capacity(capacity),
            ..HashTable::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        let entries = self.entries.get(self.head..).unwrap_or_default();
        let entries = entries.iter().filter(|entry| !entry.key.is_unset());
        entries.map(|entry| (&entry.key, &entry.value))
    }

    /// The first key at or after a position, and the next position.
    pub(crate) fn key_from(&self, place: usize) -> Option<(Value, usize)> {
        let (place, entry) = self.from(place)?;
        Some((entry.key.clone(), place + 1))
    }

    /// The first entry at or after a position, and the next position.
    pub(crate) fn entry_from(&self, place: usize) -> Option<(Value, Value, usize)> {
        let (place, entry) = self.from(place)?;
        Some((entry.key.clone(), entry.value.clone(), place + 1))
    }

    fn from(&self, place: usize) -> Option<(usize, &TableEntry)> {
        let start = place.max(self.head);
        let rest = self.entries.get(start..)?;
        let skipped = rest.iter().position(|entry| !entry.key.is_unset())?;
        Some((start + skipped, rest.get(skipped)?))
    }

    /// The allocated bytes of the table.
    pub(crate) fn size(&self) -> usize {
        self.entries.capacity() * size_of::<TableEntry>() + self.index.capacity() * size_of::<u32>()
    }

    pub(crate) fn get(&self, usage: &Usage<'_>, key: &Value) -> Result<Option<&Value>, Failure> {
        let found = match &key.0 {
            Repr::String(text) if self.index.is_empty() => self.search_str(text),
            _ => self.find(usage, key)?.1,
        };
        Ok(found
            .and_then(|place| self.entries.get(place))
            .map(|entry| &entry.value))
    }

    pub(crate) fn get_str(&self, key: &[u8]) -> Option<&Value> {
        if self.index.is_empty() {
            let place = self.search_str(key)?;
            return self.entries.get(place).map(|entry| &entry.value);
        }
        let usage = Usage::unlimited();
        let place = self.find(&usage, &Value::string(key)).ok()?.1?;
        self.entries.get(place).map(|entry| &entry.value)
    }

    /// Sets a value and charges the memory of a new entry; returns the old value.
    pub(crate) fn insert(
        &mut self,
        usage: &Usage<'_>,
        key: Value,
        value: Value,
    ) -> Result<Option<Value>, Failure> {
        let (hash, found) = self.find(usage, &key)?;
        if let Some(entry) = found.and_then(|place| self.entries.get_mut(place)) {
            return Ok(Some(std::mem::replace(&mut entry.value, value)));
        }
        usage.allocate(ENTRY_BYTES)?;
        self.entries.push(TableEntry { hash, key, value });
        self.live += 1;
        if self.entries.len() > SMALL {
            if (self.entries.len() + 1) * 4 > self.index.len() * 3 {
                self.rebuild(usage)?;
            } else {
                self.link(self.entries.len() - 1);
            }
        }
        Ok(None)
    }

    pub(crate) fn remove(
        &mut self,
        usage: &Usage<'_>,
        key: &Value,
    ) -> Result<Option<(Value, Value)>, Failure> {
        let Some(place) = self.find(usage, key)?.1 else {
            return Ok(None);
        };
        let Some(entry) = self.entries.get_mut(place) else {
            return Ok(None);
        };
        let key = std::mem::replace(&mut entry.key, Value::UNSET);
        let value = std::mem::replace(&mut entry.value, Value::UNSET);
        self.live -= 1;
        while self
            .entries
            .get(self.head)
            .is_some_and(|entry| entry.key.is_unset())
        {
            self.head += 1;
        }
        if self.index.is_empty() || self.live * 2 < self.entries.len() {
            self.close_holes();
            self.index.clear();
            if self.entries.len() > SMALL {
                self.rebuild(usage)?;
            }
        }
        Ok(Some((key, value)))
    }

    /// Moves all keys and values to `work`.
    pub(crate) fn take(&mut self, work: &mut Vec<Value>) {
        self.index.clear();
        self.live = 0;
        self.head = 0;
        for entry in self.entries.drain(..) {
            if entry.key.has_children() {
                work.push(entry.key);
            }
            if entry.value.has_children() {
                work.push(entry.value);
            }
        }
    }

    /// The hash of a key, if there is an index, and the position of its entry, if it exists.
    fn find(&self, usage: &Usage<'_>, key: &Value) -> Result<(u64, Option<usize>), Failure> {
        if self.index.is_empty() {
            if let Repr::String(text) = &key.0 {
                return Ok((0, self.search_str(text)));
            }
            check_hashable(usage, key)?;
            for (place, entry) in self.entries.iter().enumerate() {
                if !entry.key.is_unset() && equal(usage, key, &entry.key)? {
                    return Ok((0, Some(place)));
                }
            }
            return Ok((0, None));
        }
        let hash = hash(usage, key)?;
        let mask = self.index.len() - 1;
        let mut slot = hash as usize & mask;
        while let Some(place) = self.index.get(slot).copied().filter(|place| *place != FREE) {
            if let Some(entry) = self.entries.get(place as usize)
                && entry.hash == hash
                && !entry.key.is_unset()
                && equal(usage, key, &entry.key)?
            {
                return Ok((hash, Some(place as usize)));
            }
            slot = (slot + 1) & mask;
        }
        Ok((hash, None))
    }

    fn search_str(&self, text: &[u8]) -> Option<usize> {
        self.entries.iter().position(|entry| match &entry.key.0 {
            Repr::String(key) => **key == *text,
            _ => false,
        })
    }

    fn close_holes(&mut self) {
        self.entries.retain(|entry| !entry.key.is_unset());
        self.head = 0;
    }

    fn rebuild(&mut self, usage: &Usage<'_>) -> Result<(), Failure> {
        usage.charge(self.entries.len() / 8)?;
        self.close_holes();
        let size = (self.entries.len() * 2 + 2).next_power_of_two();
        let had_index = !self.index.is_empty();
        self.index = vec![FREE; size];
        for place in 0..self.entries.len() {
            if let Some(entry) = self.entries.get_mut(place)
                && (!had_index || entry.hash == 0)
            {
                entry.hash = hash(usage, &entry.key)?;
            }
            self.link(place);
        }
        Ok(())
    }

    fn link(&mut self, place: usize) {
        let mask = self.index.len() - 1;
        let mut slot = self
            .entries
            .get(place)
            .map_or(0, |entry| entry.hash as usize)
            & mask;
        while self.index.get(slot).is_some_and(|other| *other != FREE) {
            slot = (slot + 1) & mask;
        }
        if let Some(free) = self.index.get_mut(slot) {
            *free = u32::try_from(place).unwrap_or(FREE);
        }
    }
}
