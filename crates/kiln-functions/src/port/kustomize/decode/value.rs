//! What was read.

use std::collections::BTreeMap;

/// A value of a configuration.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, String>),
    /// The fields that were given, in the order of their keys.
    Struct(Vec<(&'static str, Value)>),
}

impl Value {
    /// A field of a struct, unless it is not given or null. Given twice, in different spellings, the last one counts.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        let Value::Struct(fields) = self else {
            return None;
        };
        let mut fields = fields.iter().rev();
        let (_, value) = fields.find(|(given, value)| *given == name && *value != Value::Null)?;
        Some(value)
    }

    /// A struct's field that is a text; empty if it is not given.
    pub(crate) fn field_text(&self, name: &str) -> &str {
        match self.field(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// A struct's field that is a boolean; false if it is not given.
    pub(crate) fn field_flag(&self, name: &str) -> bool {
        matches!(self.field(name), Some(Value::Bool(true)))
    }

    /// A struct's field that is a number; zero if it is not given.
    pub(crate) fn field_int(&self, name: &str) -> i64 {
        match self.field(name) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        }
    }

    /// A struct's field that is a map of texts.
    pub(crate) fn field_map(&self, name: &str) -> BTreeMap<String, String> {
        match self.field(name) {
            Some(Value::Map(map)) => map.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// A list's items.
    pub(crate) fn items(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn into_text(self) -> String {
        match self {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }
}
