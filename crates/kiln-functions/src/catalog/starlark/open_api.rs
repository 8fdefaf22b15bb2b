//! `ctx.open_api`: the types of Kubernetes, as far as they are known here.
//!
//! What is known is what kyaml has built in about names, kinds, fields and their types. Descriptions, formats and what is
//! required are not, nor is the list of all types: to ask for those is an error that says so, never a wrong answer.

use std::any::Any;
use std::rc::Rc;

use kiln_krm::schema::{Schema, Shape};
use kiln_starlark::{Arguments, Builtin, Context, Dict, Failure, Kind, Object, Value};
use kiln_yaml::TypeId;

const UNKNOWN: &str = "this part of ctx.open_api is not known to the native function; run it as a container with \
                       --no-native";

pub(super) fn open_api() -> Value {
    Part::Root.value()
}

/// A part of the document.
#[derive(Clone, Copy)]
enum Part {
    Root,
    Definitions,
    Definition(TypeId),
    Properties(TypeId),
    /// What a field, an item or a value is.
    Use(TypeId),
}

impl Part {
    fn value(self) -> Value {
        Value::object(Rc::new(self))
    }

    /// The value of a key; none if there is surely no such key.
    fn get(self, key: &str) -> Result<Option<Value>, &'static str> {
        let schema = Schema::builtin();
        let known = |part: Part| Ok(Some(part.value()));
        match (self, key) {
            (Part::Root, "definitions") => known(Part::Definitions),
            (Part::Definitions, name) => {
                known(Part::Definition(schema.named(name).ok_or(UNKNOWN)?))
            }
            (Part::Definition(of), "x-kubernetes-group-version-kind") => kinds(of).map(Some),
            (Part::Definition(of), "properties") => match schema.shape(of) {
                Shape::Object(_) => known(Part::Properties(of)),
                _ => Err(UNKNOWN),
            },
            (Part::Definition(of), "type") => match schema.shape(of) {
                Shape::Object(_) => Ok(Some(Value::string("object"))),
                _ => Err(UNKNOWN),
            },
            (Part::Properties(of), name) => match schema.shape(of) {
                Shape::Object(fields) => {
                    let field = fields.iter().find(|(field, _)| *field == name);
                    Ok(field.map(|(_, of)| Part::Use(*of).value()))
                }
                _ => Err(UNKNOWN),
            },
            (Part::Use(of), key) => used(of, key),
            _ => Err(UNKNOWN),
        }
    }
}

/// What is said of a type where it is used: a reference if it has a name, else what it is.
fn used(of: TypeId, key: &str) -> Result<Option<Value>, &'static str> {
    let schema = Schema::builtin();
    let known = |of: TypeId| Ok(Some(Part::Use(of).value()));
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

/// The kind that a type is of. Those of several kinds have them in an order that is not known.
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

impl Object for Part {
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
            Kind::String(key) => self.get(&String::from_utf8_lossy(key)),
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
