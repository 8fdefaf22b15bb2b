//! Decoded values.

use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ConfigValue {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<ConfigValue>),
    Map(BTreeMap<String, String>),
    /// The given fields, in the order of their keys.
    Struct(Vec<(&'static str, ConfigValue)>),
}

impl ConfigValue {
    /// A field of a struct, unless it is missing or null. If it is given twice, in different spellings, the last one
    /// counts.
    pub(crate) fn field(&self, name: &str) -> Option<&ConfigValue> {
        let ConfigValue::Struct(fields) = self else {
            return None;
        };
        let mut fields = fields.iter().rev();
        let (_, value) =
            fields.find(|(given, value)| *given == name && *value != ConfigValue::Null)?;
        Some(value)
    }

    /// A string field of a struct; empty if it is missing.
    pub(crate) fn field_text(&self, name: &str) -> &str {
        match self.field(name) {
            Some(ConfigValue::Text(text)) => text,
            _ => "",
        }
    }

    /// A boolean field of a struct; false if it is missing.
    pub(crate) fn field_flag(&self, name: &str) -> bool {
        matches!(self.field(name), Some(ConfigValue::Bool(true)))
    }

    /// An integer field of a struct; zero if it is missing.
    pub(crate) fn field_int(&self, name: &str) -> i64 {
        match self.field(name) {
            Some(ConfigValue::Int(number)) => *number,
            _ => 0,
        }
    }

    /// A `map[string]string` field of a struct.
    pub(crate) fn field_map(&self, name: &str) -> BTreeMap<String, String> {
        match self.field(name) {
            Some(ConfigValue::Map(map)) => map.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<&[ConfigValue]> {
        match self {
            ConfigValue::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn into_text(self) -> String {
        match self {
            ConfigValue::Text(text) => text,
            _ => String::new(),
        }
    }
}
