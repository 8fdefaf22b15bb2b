//! The types of the built-in Kubernetes resources, from the tables that `tools/schema/jsonschema` writes.
//!
//! The first lines of a table describe its format. Parsing takes about a millisecond and happens when the first
//! resource is validated; schemas are built for the kinds that are requested.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::format::Format;
use super::schema::{Additional, Schema, SchemaId, Schemas, Type, Types};
use crate::port::go_json::Json;

/// The types of one version of Kubernetes.
pub(crate) struct TypeTable {
    types: Vec<TypeEntry>,
    /// By the name of the file that openapi2jsonschema writes.
    by_file_name: HashMap<String, usize>,
}

#[derive(Default)]
struct TypeEntry {
    /// The other type that it stands for, if it is not an object with fields.
    alias: Option<&'static str>,
    api_versions: Vec<&'static str>,
    kinds: Vec<&'static str>,
    required: Vec<&'static str>,
    fields: Vec<(&'static str, &'static str)>,
}

/// What applies to unknown fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum UnknownFields {
    Allowed,
    Refused,
}

/// Kinds for which openapi2jsonschema writes no schema, because it would be infinite.
const WITHOUT_SCHEMA: &[&str] = &[
    "customresourcedefinition",
    "customresourcedefinitionlist",
    "customresourcedefinitionspec",
    "customresourcedefinitionversion",
    "customresourcevalidation",
    "jsonschemaprops",
    "jsonschemapropsorarray",
    "jsonschemapropsorbool",
    "jsonschemapropsorstringarray",
];

/// The version of kubeconform's schemas.
static CURRENT: LazyLock<TypeTable> =
    LazyLock::new(|| TypeTable::parse(include_str!("kubernetes-v1.36.3.txt")));

/// The version of kubeval's schemas.
static KUBEVAL: LazyLock<TypeTable> =
    LazyLock::new(|| TypeTable::parse(include_str!("kubernetes-v1.20.10.txt")));

/// The Kptfile schema of kubeval.
static KPTFILE: LazyLock<TypeTable> =
    LazyLock::new(|| TypeTable::parse(include_str!("kptfile.txt")));

impl TypeTable {
    /// The types of the newest Kubernetes in the tables.
    pub(crate) fn current() -> &'static TypeTable {
        &CURRENT
    }

    /// The types of kubeval v0.3.0 that belong to Kubernetes or kpt.
    pub(crate) fn of_kubeval() -> [&'static TypeTable; 2] {
        [&KUBEVAL, &KPTFILE]
    }

    /// The schema of a kind, if there is one. Group and version are looked up like kubeconform does: by the part of
    /// the group before the first dot, ignoring case.
    pub(crate) fn schema(
        &self,
        api_version: &str,
        kind: &str,
        unknown_fields: UnknownFields,
    ) -> Option<Schemas> {
        let place = *self.by_file_name.get(&file_name(api_version, kind))?;
        Some(Maker::new(self, unknown_fields).make(place))
    }

    /// The schema of a resource, by its exact API version and kind.
    pub(crate) fn schema_of_resource(
        &self,
        api_version: &str,
        kind: &str,
        unknown_fields: UnknownFields,
    ) -> Option<Schemas> {
        let place = *self.by_file_name.get(&file_name(api_version, kind))?;
        let entry = self.types.get(place)?;
        let is_known = entry.api_versions.contains(&api_version) && entry.kinds.contains(&kind);
        is_known.then(|| Maker::new(self, unknown_fields).make(place))
    }

    /// Builds the schemas of all types, and returns their number.
    #[cfg(test)]
    pub(super) fn make_all(&self) -> usize {
        let made = self.by_file_name.values().filter(|place| {
            let schemas = Maker::new(self, UnknownFields::Refused).make(**place);
            schemas.root().is_some()
        });
        made.count()
    }

    fn parse(text: &'static str) -> TypeTable {
        let mut table = TypeTable {
            types: Vec::new(),
            by_file_name: HashMap::new(),
        };
        for line in text.lines() {
            if line.starts_with(char::is_alphabetic) {
                table.begin(line);
                continue;
            }
            let Some(entry) = table.types.last_mut() else {
                continue;
            };
            if let Some(field) = line.strip_prefix(' ') {
                entry.fields.extend(field.split_once(' '));
            } else if let Some(resource) = line.strip_prefix('@') {
                let (api_version, kind) = resource.split_once(' ').unwrap_or_default();
                push_new(&mut entry.api_versions, api_version);
                push_new(&mut entry.kinds, kind);
            } else if let Some(required) = line.strip_prefix('!') {
                entry.required = required.split(' ').collect();
            }
        }
        table
    }

    fn begin(&mut self, line: &'static str) {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (kind, group, version) = (word(), word(), word());
        let kind = kind.to_lowercase();
        if !WITHOUT_SCHEMA.contains(&kind.as_str()) {
            let name = match group {
                "core" | "api" => format!("{kind}-{version}"),
                _ => format!("{kind}-{group}-{version}"),
            };
            self.by_file_name
                .insert(name.to_lowercase(), self.types.len());
        }
        self.types.push(TypeEntry {
            alias: words.next().and_then(|alias| alias.strip_prefix('=')),
            ..TypeEntry::default()
        });
    }
}

/// The name of the file with the schema of a kind, without its extension.
fn file_name(api_version: &str, kind: &str) -> String {
    format!("{}{}", kind.to_lowercase(), kind_suffix(api_version))
}

/// The part of a file name with group and version.
pub(crate) fn kind_suffix(api_version: &str) -> String {
    let mut parts = api_version.split('/');
    let group = parts.next().unwrap_or_default();
    let group = group.split('.').next().unwrap_or_default();
    match parts.next() {
        Some(version) => format!("-{group}-{version}").to_lowercase(),
        None => format!("-{group}").to_lowercase(),
    }
}

fn push_new(list: &mut Vec<&'static str>, item: &'static str) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Whether a field may be null although its type does not allow it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Null {
    Allowed,
    Refused,
}

/// Builds the schemas of one kind.
struct Maker<'a> {
    table: &'a TypeTable,
    unknown_fields: UnknownFields,
    schemas: Schemas,
    made: HashMap<(usize, Null), SchemaId>,
    open: Vec<(SchemaId, usize, Null)>,
}

impl Maker<'_> {
    fn new(table: &TypeTable, unknown_fields: UnknownFields) -> Maker<'_> {
        Maker {
            table,
            unknown_fields,
            schemas: Schemas::default(),
            made: HashMap::new(),
            open: Vec::new(),
        }
    }

    fn make(mut self, place: usize) -> Schemas {
        let root = self.schemas.push(Schema::default());
        let mut schema = match self.table.types.get(place) {
            Some(entry) => match entry.alias {
                // The converter gives the type `object` to types without one, and leaves the others as they are.
                Some("?") | None => self.object(entry, Null::Refused, Depth::Top),
                Some(alias) => self.simple(alias, Null::Refused),
            },
            None => Schema::default(),
        };
        if self.unknown_fields == UnknownFields::Refused {
            schema.additional = Some(Additional::Refused);
        }
        self.schemas.set(root, schema);
        while let Some((id, place, null)) = self.open.pop() {
            let schema = match self.table.types.get(place) {
                Some(entry) => self.object(entry, null, Depth::Below),
                None => Schema::default(),
            };
            self.schemas.set(id, schema);
        }
        self.schemas
    }

    fn object(&mut self, entry: &TypeEntry, null: Null, depth: Depth) -> Schema {
        let mut schema = Schema {
            types: types(Type::Object, null),
            required: entry.required.iter().copied().map(Cow::Borrowed).collect(),
            ..Schema::default()
        };
        if self.unknown_fields == UnknownFields::Refused {
            schema.additional = Some(Additional::Refused);
        }
        for (name, expression) in &entry.fields {
            // At the top level the converter loses which fields are required.
            let null = match depth {
                Depth::Below if entry.required.contains(name) => Null::Refused,
                _ => Null::Allowed,
            };
            let values = match *name {
                "apiVersion" => entry.api_versions.as_slice(),
                "kind" => entry.kinds.as_slice(),
                _ => &[],
            };
            let id = match values {
                [] => self.expression(expression, null),
                values => {
                    let mut schema = self.simple(expression, null);
                    schema.enumeration =
                        Some(values.iter().map(|text| Json::string(text)).collect());
                    self.schemas.push(schema)
                }
            };
            schema.properties.insert(Cow::Borrowed(name), id);
        }
        schema
    }

    fn expression(&mut self, expression: &str, null: Null) -> SchemaId {
        let Ok(place) = expression.parse::<usize>() else {
            let schema = self.simple(expression, null);
            return self.schemas.push(schema);
        };
        if let Some(alias) = self.table.types.get(place).and_then(|entry| entry.alias) {
            let schema = self.simple(alias, null);
            return self.schemas.push(schema);
        }
        let key = (place, null);
        if let Some(id) = self.made.get(&key) {
            return *id;
        }
        let id = self.schemas.push(Schema::default());
        self.made.insert(key, id);
        self.open.push((id, place, null));
        id
    }

    /// An expression that is not another type.
    fn simple(&mut self, expression: &str, null: Null) -> Schema {
        let mut schema = Schema::default();
        let mut chars = expression.chars();
        let type_ = match chars.next() {
            Some('{') => {
                let value = self.expression(chars.as_str(), Null::Allowed);
                schema.additional = Some(Additional::Schema(value));
                Type::Object
            }
            Some('[') => {
                schema.items = Some(self.expression(chars.as_str(), Null::Allowed));
                Type::Array
            }
            // Both alternatives may be null, so that null matches both and fails `oneOf`.
            Some('q') => return self.string_or(Type::Integer),
            Some('r') => return self.string_or(Type::Number),
            Some('t') => {
                schema.format = Some(Format::DateTime);
                Type::String
            }
            Some('s') => Type::String,
            Some('i') => Type::Integer,
            Some('n') => Type::Number,
            Some('b') => Type::Boolean,
            Some('o') => Type::Object,
            _ => return schema,
        };
        schema.types = types(type_, null);
        schema
    }

    fn string_or(&mut self, type_: Type) -> Schema {
        let one_of = [Type::String, type_].map(|type_| {
            self.schemas.push(Schema {
                types: types(type_, Null::Allowed),
                ..Schema::default()
            })
        });
        Schema {
            one_of: one_of.to_vec(),
            ..Schema::default()
        }
    }
}

/// At which level the fields of an object are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Depth {
    Top,
    Below,
}

fn types(type_: Type, null: Null) -> Types {
    match null {
        Null::Allowed => Types::from(type_).with(Type::Null),
        Null::Refused => type_.into(),
    }
}
