//! The tags of a document that are not YAML's own.

use std::collections::HashMap;

use crate::node::PackedTag;

/// From this many tags on they are looked up by hash. Most documents have none, and hardly any has more than a few.
const HASHED_FROM: usize = 16;

/// Tags by number, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct TagTable {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl TagTable {
    /// Whether there is no room for another tag.
    pub(crate) fn is_full(&self) -> bool {
        self.names.len() >= PackedTag::MAX_CUSTOM
    }

    pub(crate) fn name(&self, number: u32) -> &str {
        self.names
            .get(number as usize)
            .map_or("", |name| name.as_ref())
    }

    /// The number of a tag, new or known; `None` if it is new and there is no room.
    pub(crate) fn number_of(&mut self, name: Box<str>) -> Option<u32> {
        let known = self.find(&name);
        if known.is_some() || self.is_full() {
            return known;
        }
        let number = self.names.len() as u32;
        if !self.numbers.is_empty() {
            self.numbers.insert(name.clone(), number);
        }
        self.names.push(name);
        if self.numbers.is_empty() && self.names.len() >= HASHED_FROM {
            let names = self.names.iter().cloned();
            self.numbers = names.zip(0..).collect();
        }
        Some(number)
    }

    fn find(&self, name: &str) -> Option<u32> {
        if self.numbers.is_empty() {
            let place = self.names.iter().position(|known| **known == *name);
            place.map(|place| place as u32)
        } else {
            self.numbers.get(name).copied()
        }
    }
}
