//! Elements of values: `x[y]`, read and set.

use super::context::Context;
use crate::builder::STRING_BYTES;
use crate::error::{Failure, fail};
use crate::usage::Usage;
use crate::value::{Repr, Value, as_i32};

pub(crate) fn index(usage: &Usage<'_>, object: &Value, key: &Value) -> Result<Value, Failure> {
    match &object.0 {
        Repr::Dict(dict) => match dict.get(usage, key)? {
            Some(value) => Ok(value),
            None => fail(format!("key {} not in dict", key.shown(usage)?)),
        },
        Repr::Object(mapping) => match mapping.lookup(key) {
            Some(Ok(Some(value))) => Ok(value),
            Some(Ok(None)) => {
                let (key, type_name) = (key.shown(usage)?, object.type_name());
                fail(format!("key {key} not in {type_name}"))
            }
            Some(Err(reason)) => fail(reason),
            None => unhandled(object, key),
        },
        Repr::List(list) => {
            let place = place(object, key, list.len())?;
            list.get(place)
                .ok_or_else(|| Failure::new("list index out of range"))
        }
        Repr::Tuple(tuple) => {
            let place = place(object, key, tuple.0.len())?;
            let element = tuple.0.get(place).cloned();
            element.ok_or_else(|| Failure::new("tuple index out of range"))
        }
        Repr::Range(range) => Ok(range.get(place(object, key, range.length)?)),
        Repr::String(bytes) => {
            let place = place(object, key, bytes.len())?;
            Value::new_string(usage, bytes.get(place..=place).unwrap_or_default())
        }
        Repr::Bytes(bytes) => {
            let place = place(object, key, bytes.len())?;
            usage.allocate(STRING_BYTES)?;
            Ok(Value::bytes(bytes.get(place..=place).unwrap_or_default()))
        }
        Repr::View(view) => match object.length() {
            Some(length) => {
                let place = place(object, key, length)?;
                usage.allocate(STRING_BYTES)?;
                Ok(view.at(place).map_or(Value::NONE, |(value, _)| value))
            }
            None => unhandled(object, key),
        },
        _ => unhandled(object, key),
    }
}

fn unhandled(object: &Value, key: &Value) -> Result<Value, Failure> {
    let (object, key) = (object.type_name(), key.type_name());
    fail(format!("unhandled index operation {object}[{key}]"))
}

fn place(object: &Value, key: &Value, length: usize) -> Result<usize, Failure> {
    let index = as_i32(key);
    let index =
        index.map_err(|failure| failure.within(&format!("{} index", object.type_name())))?;
    resolve(index, length, object)
}

/// The position of an index, which may count from the end.
fn resolve(index: i64, length: usize, object: &Value) -> Result<usize, Failure> {
    let size = i64::try_from(length).unwrap_or(i64::MAX);
    let place = if index < 0 { index + size } else { index };
    match usize::try_from(place) {
        Ok(place) if place < length => Ok(place),
        _ => out_of_range(index, length, object),
    }
}

pub(crate) fn out_of_range<T>(index: i64, length: usize, object: &Value) -> Result<T, Failure> {
    let type_name = object.type_name();
    if length == 0 {
        return fail(format!("index {index} out of range: empty {type_name}"));
    }
    fail(format!(
        "{type_name} index {index} out of range [-{length}:{}]",
        length - 1
    ))
}

pub(super) fn set_index(
    ctx: &mut Context<'_>,
    object: &Value,
    key: Value,
    value: Value,
) -> Result<(), Failure> {
    match &object.0 {
        Repr::Dict(dict) => {
            ctx.track_dict(dict, &key, &value);
            dict.insert(ctx.usage, key, value).map(|_| ())
        }
        Repr::List(list) => {
            let place = resolve(as_i32(&key)?, list.len(), object)?;
            list.check_mutable("assign to element of")?;
            ctx.track_list(list, &value);
            let old = list.change(|elements| {
                elements
                    .get_mut(place)
                    .map(|element| std::mem::replace(element, value))
            });
            drop(old);
            Ok(())
        }
        _ => fail(format!(
            "{} value does not support item assignment",
            object.type_name()
        )),
    }
}
