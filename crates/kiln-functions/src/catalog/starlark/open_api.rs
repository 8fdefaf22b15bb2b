//! `ctx.open_api`: the Kubernetes types, as far as they are known here.
//!
//! Names, kinds, fields and their types come from the schema that is built into kyaml. Descriptions, formats,
//! required fields and the list of all types are missing: reading those is an error with an explanation, never a
//! wrong answer.

use std::any::Any;
use std::rc::Rc;

use kiln_krm::schema::{Schema, Shape};
use kiln_starlark::{Arguments, Builtin, Context, Dict, Failure, Object, Value, ValueKind};
use kiln_yaml::TypeId;

const UNKNOWN: &str = "this part of ctx.open_api is not known to the native function; run it as a container with \
                       --no-native";

pub(super) fn open_api() -> Value {
    OpenApiPart::Root.value()
}

#[derive(Clone, Copy)]
enum OpenApiPart {
    Root,
    Definitions,
    Definition(TypeId),
    Properties(TypeId),
    /// The type of a field, an item or a value.
    Use(TypeId),
}

impl OpenApiPart {
    fn value(self) -> Value {
        Value::object(Rc::new(self))
    }

    /// The value of a key; `None` if there is surely no such key.
    fn get(self, key: &str) -> Result<Option<Value>, &'static str> {
        let schema = Schema::builtin();
        let known = |part: OpenApiPart| Ok(Some(part.value()));
        match (self, key) {
            (OpenApiPart::Root, "definitions") => known(OpenApiPart::Definitions),
            (OpenApiPart::Definitions, name) => {
                known(OpenApiPart::Definition(schema.named(name).ok_or(UNKNOWN)?))
            }
            (OpenApiPart::Definition(of), "x-kubernetes-group-version-kind") => kinds(of).map(Some),
            (OpenApiPart::Definition(of), "properties") => match schema.shape(of) {
                Shape::Object(_) => known(OpenApiPart::Properties(of)),
                _ => Err(UNKNOWN),
            },
            (OpenApiPart::Definition(of), "type") => match schema.shape(of) {
                Shape::Object(_) => Ok(Some(Value::string("object"))),
                _ => Err(UNKNOWN),
            },
            (OpenApiPart::Properties(of), name) => match schema.shape(of) {
                Shape::Object(fields) => {
                    let field = fields.iter().find(|(field, _)| *field == name);
                    Ok(field.map(|(_, of)| OpenApiPart::Use(*of).value()))
                }
                _ => Err(UNKNOWN),
            },
            (OpenApiPart::Use(of), key) => used(of, key),
            _ => Err(UNKNOWN),
        }
    }
}

/// The description of a type where it is used: a reference if it has a name, else its structure.
fn used(of: TypeId, key: &str) -> Result<Option<Value>, &'static str> {
    let schema = Schema::builtin();
    let known = |of: TypeId| Ok(Some(OpenApiPart::Use(of).value()));
    let name = schema.name(of);
    match (key, name, schema.shape(of)) {
        ("$ref", Some(name), _) => Ok(Some(Value::string(format!("#/definitions/{name}")))),
        ("type", Some(_), _) | ("$ref", None, _) => Ok(None),
        ("type", None, shape) => {
            let name = match shape {
                Shape::Object(_) | Shape::Map(_) => "object",
                Shape::List { .. } => "array",
                Shape::String => "string",
                Shape::Integer => "integer",
                Shape::Boolean => "boolean",
                Shape::Number => "number",
                Shape::IntegerOrString | Shape::Any => return Err(UNKNOWN),
            };
            Ok(Some(Value::string(name)))
        }
        ("items", None, Shape::List { item, .. }) => known(*item),
        ("additionalProperties", None, Shape::Map(value)) => known(*value),
        _ => Err(UNKNOWN),
    }
}

/// The kind of a type. The order of several kinds is not known.
fn kinds(of: TypeId) -> Result<Value, &'static str> {
    let kinds = Schema::builtin().resources_of(of);
    let [(api_version, kind)] = kinds.as_slice() else {
        return Err(UNKNOWN);
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let entry = Dict::with_capacity(3);
    entry.set_str("group", Value::string(group));
    entry.set_str("kind", Value::string(*kind));
    entry.set_str("version", Value::string(version));
    Ok(Value::list(vec![Value::from(entry)]))
}

impl Object for OpenApiPart {
    fn type_name(&self) -> &str {
        "dict"
    }

    fn repr(&self) -> Vec<u8> {
        b"{}".to_vec()
    }

    fn attribute(&self, _: &Value, name: &str) -> Option<Value> {
        let is_method = matches!(name, "get" | "items" | "keys" | "values");
        is_method.then(|| Value::from(Builtin::new("open_api", refuse)))
    }

    fn lookup(&self, key: &Value) -> Option<Result<Option<Value>, String>> {
        let found = match key.kind() {
            ValueKind::String(key) => self.get(&String::from_utf8_lossy(key)),
            _ => Ok(None),
        };
        Some(found.map_err(str::to_owned))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn refuse(_: &mut Context<'_>, _: &Arguments<'_>) -> Result<Value, Failure> {
    Err(Failure::new(UNKNOWN.to_owned()))
}
