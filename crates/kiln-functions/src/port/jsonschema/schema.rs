//! The representation of schemas.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::port::go_json::{Json, JsonContent, JsonRef};

use super::format::Format;

/// Schemas that refer to each other.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    list: Vec<Schema>,
    /// Whether `format` is checked.
    pub(super) checks_formats: bool,
}

/// The index of a schema. The first is the schema of the resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SchemaId(usize);

#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// A schema that is `true` or `false`.
    pub(crate) verdict: Option<bool>,
    pub(crate) reference: Option<SchemaId>,
    /// Whether `$ref` hides the other keywords, as before draft 2019-09.
    pub(crate) reference_only: bool,
    pub(crate) types: Types,
    pub(crate) enumeration: Option<Vec<Json>>,
    pub(crate) constant: Option<Json>,
    pub(crate) format: Option<Format>,
    pub(crate) required: Vec<Cow<'static, str>>,
    pub(crate) properties: HashMap<Cow<'static, str>, SchemaId>,
    pub(crate) pattern_properties: Vec<(regex::Regex, SchemaId)>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<SchemaId>,
    pub(crate) first_items: Vec<SchemaId>,
    pub(crate) is_unique: bool,
    pub(crate) pattern: Option<regex::Regex>,
    pub(crate) properties_count: Range,
    pub(crate) items_count: Range,
    pub(crate) length: Range,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_minimum: Option<f64>,
    pub(crate) exclusive_maximum: Option<f64>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) not: Option<SchemaId>,
    pub(crate) all_of: Vec<SchemaId>,
    pub(crate) any_of: Vec<SchemaId>,
    pub(crate) one_of: Vec<SchemaId>,
    pub(crate) if_then_else: Option<(SchemaId, Option<SchemaId>, Option<SchemaId>)>,
}

/// What applies to properties without their own schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Additional {
    Refused,
    Schema(SchemaId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Range {
    pub(crate) min: Option<usize>,
    pub(crate) max: Option<usize>,
}

/// A JSON type, in the order of messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Type {
    Null,
    Boolean,
    Number,
    Integer,
    String,
    Array,
    Object,
}

/// A set of types; the empty set allows every type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Types(u8);

impl Schemas {
    /// No schemas yet; `format` will be checked.
    pub(crate) fn checking_formats() -> Schemas {
        Schemas {
            checks_formats: true,
            ..Schemas::default()
        }
    }

    pub(crate) fn root(&self) -> Option<SchemaId> {
        (!self.list.is_empty()).then_some(SchemaId(0))
    }

    pub(crate) fn push(&mut self, schema: Schema) -> SchemaId {
        self.list.push(schema);
        SchemaId(self.list.len() - 1)
    }

    /// Replaces a schema that was pushed as a placeholder.
    pub(crate) fn set(&mut self, id: SchemaId, schema: Schema) {
        if let Some(place) = self.list.get_mut(id.0) {
            *place = schema;
        }
    }

    pub(crate) fn get(&self, id: SchemaId) -> Option<&Schema> {
        self.list.get(id.0)
    }
}

impl Type {
    pub(crate) const ALL: [Type; 7] = [
        Type::Null,
        Type::Boolean,
        Type::Number,
        Type::Integer,
        Type::String,
        Type::Array,
        Type::Object,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Number => "number",
            Type::Integer => "integer",
            Type::String => "string",
            Type::Array => "array",
            Type::Object => "object",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|type_| type_.name() == name)
    }

    /// The type of a value; integers are numbers too.
    pub(crate) fn of(value: JsonRef<'_>) -> Type {
        match value.content() {
            JsonContent::Null => Type::Null,
            JsonContent::Bool(_) => Type::Boolean,
            JsonContent::Int(_) | JsonContent::Float(_) => Type::Number,
            JsonContent::String(_) => Type::String,
            JsonContent::Array => Type::Array,
            JsonContent::Object => Type::Object,
        }
    }
}

impl Types {
    pub(crate) fn with(self, type_: Type) -> Types {
        Types(self.0 | 1 << type_ as u8)
    }

    pub(crate) fn contains(self, type_: Type) -> bool {
        self.0 & 1 << type_ as u8 != 0
    }

    /// The types, in the order of [`Type::ALL`].
    pub(crate) fn iter(self) -> impl Iterator<Item = Type> {
        Type::ALL
            .into_iter()
            .filter(move |type_| self.contains(*type_))
    }

    pub(crate) fn admit(self, value: JsonRef<'_>) -> bool {
        let is_whole = match value.content() {
            JsonContent::Int(_) => true,
            JsonContent::Float(number) => number.fract() == 0.0,
            _ => false,
        };
        self.0 == 0 || self.contains(Type::of(value)) || (is_whole && self.contains(Type::Integer))
    }
}

impl From<Type> for Types {
    fn from(type_: Type) -> Types {
        Types::default().with(type_)
    }
}
