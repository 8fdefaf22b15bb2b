//! Attributes: `x.name`.

use crate::builtins::{find_method, method_names};
use crate::error::{Failure, fail};
use crate::spell;
use crate::value::{Builtin, Repr, Value};

/// The attribute of a value; the error about a missing one suggests a similar name.
pub(super) fn attribute_or_hint(value: &Value, name: &str) -> Result<Value, Failure> {
    match attribute(value, name) {
        Some(attribute) => Ok(attribute),
        None => {
            let message = missing(value, name);
            let names = attribute_names(value);
            match spell::nearest(name, names.iter().map(String::as_str)) {
                Some(near) => fail(format!("{message} (did you mean .{near}?)")),
                None => fail(message),
            }
        }
    }
}

pub(crate) fn attribute(value: &Value, name: &str) -> Option<Value> {
    match &value.0 {
        Repr::Struct(structure) => structure.field(name).cloned(),
        Repr::Module(module) => module.member(name).cloned(),
        Repr::Object(object) => object.attribute(value, name),
        _ => {
            let method = find_method(value, name)?;
            Some(Value::from(Builtin::method(
                method.name,
                method.function,
                value.clone(),
            )))
        }
    }
}

/// The names of all attributes, sorted.
pub(crate) fn attribute_names(value: &Value) -> Vec<String> {
    let mut names: Vec<String> = match &value.0 {
        Repr::Struct(structure) => structure
            .fields()
            .map(|(name, _)| name.to_owned())
            .collect(),
        Repr::Module(module) => module.names().map(str::to_owned).collect(),
        Repr::Object(object) => object
            .attribute_names()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        _ => method_names(value).map(str::to_owned).collect(),
    };
    names.sort_unstable();
    names
}

/// The error about a missing attribute.
pub(crate) fn missing(value: &Value, name: &str) -> String {
    match &value.0 {
        Repr::Struct(_) => format!("struct has no .{name} attribute"),
        _ => format!("{} has no .{name} field or method", value.type_name()),
    }
}
