//! Structs and modules: names with values.

use super::{Value, drop_all};

/// A struct: immutable fields by name.
pub struct Struct {
    /// Sorted by name.
    fields: Vec<(String, Value)>,
}

impl Struct {
    pub fn new(mut fields: Vec<(String, Value)>) -> Struct {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Struct { fields }
    }

    pub fn field(&self, name: &str) -> Option<&Value> {
        find(&self.fields, name)
    }

    /// All fields, sorted by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn field_at(&self, place: usize) -> Option<(&str, &Value)> {
        let (name, value) = self.fields.get(place)?;
        Some((name.as_str(), value))
    }

    pub(super) fn take(mut self, work: &mut Vec<Value>) {
        work.extend(self.fields.drain(..).map(|(_, value)| value));
    }
}

impl Drop for Struct {
    fn drop(&mut self) {
        drop_all(self.fields.drain(..).map(|(_, value)| value).collect());
    }
}

/// A module: the result of `load`.
pub struct Module {
    pub(crate) name: String,
    /// Sorted by name.
    members: Vec<(String, Value)>,
}

impl Module {
    pub fn new(name: &str, mut members: Vec<(String, Value)>) -> Module {
        members.sort_by(|a, b| a.0.cmp(&b.0));
        Module {
            name: name.to_owned(),
            members,
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        find(&self.members, name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }
}

fn find<'a>(sorted: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    let place = sorted
        .binary_search_by(|(other, _)| other.as_str().cmp(name))
        .ok()?;
    sorted.get(place).map(|(_, value)| value)
}
