//! Calls of JavaScript functions by the Go program: functions of the host, and functions of the program itself.

use super::builtins::{JsBuiltin, set_function};
use super::values::{GoValues, JsKind, JsValue, ObjectId};
use crate::host::{Guest, Stop};

/// What a call returns or throws.
pub(super) type Thrown = Result<JsValue, JsValue>;

/// Calls a function.
pub(super) fn call(
    guest: &mut dyn Guest,
    function: &JsValue,
    this: &JsValue,
    arguments: &[JsValue],
) -> Result<Thrown, Stop> {
    let values = &mut guest.state().go;
    let JsValue::Object(id) = function else {
        return error(values, "the value is not a function").map(Err);
    };
    match values.object(*id).map(|object| &object.kind) {
        Some(JsKind::GoFunction(number)) => {
            let number = *number;
            call_go(guest, number, this, arguments).map(Ok)
        }
        Some(JsKind::Builtin(builtin)) => {
            let builtin = *builtin;
            call_builtin(guest, builtin, arguments)
        }
        _ => error(values, "the value is not a function").map(Err),
    }
}

/// Calls a function of the Go program, and returns its result.
pub(super) fn call_go(
    guest: &mut dyn Guest,
    number: f64,
    this: &JsValue,
    arguments: &[JsValue],
) -> Result<JsValue, Stop> {
    let event = begin_event(&mut guest.state().go, number, this, arguments)?;
    resume(guest)?;
    Ok(guest.state().go.property(event, "result"))
}

/// Makes the event that the Go program handles when it is resumed.
pub(super) fn begin_event(
    values: &mut GoValues,
    number: f64,
    this: &JsValue,
    arguments: &[JsValue],
) -> Result<ObjectId, Stop> {
    let arguments = values.add_array(arguments.to_vec())?;
    let event = values.add(JsKind::Plain, 0)?;
    values.set_property(event, "id", JsValue::Number(number))?;
    values.set_property(event, "this", this.clone())?;
    values.set_property(event, "args", JsValue::Object(arguments))?;
    values.set_property(values.go, "_pendingEvent", JsValue::Object(event))?;
    Ok(event)
}

/// Lets the Go program run until it waits.
pub(super) fn resume(guest: &mut dyn Guest) -> Result<(), Stop> {
    guest.call("resume", &[]).map(drop)
}

fn call_builtin(
    guest: &mut dyn Guest,
    builtin: JsBuiltin,
    arguments: &[JsValue],
) -> Result<Thrown, Stop> {
    let state = guest.state();
    let values = &mut state.go;
    Ok(Ok(match builtin {
        JsBuiltin::Write => return write(guest, arguments),
        JsBuiltin::Sync => return call_back(guest, arguments, &[JsValue::Null]),
        JsBuiltin::NotImplemented => {
            let error = not_implemented(values)?;
            return call_back(guest, arguments, &[error]);
        }
        JsBuiltin::Throws => return not_implemented(values).map(Err),
        JsBuiltin::MinusOne => JsValue::Number(-1.0),
        JsBuiltin::Zero => JsValue::Number(0.0),
        JsBuiltin::WorkingDirectory => JsValue::Text("/".into()),
        JsBuiltin::Print => {
            let words: Vec<String> = arguments.iter().map(text_of).collect();
            let line = format!("{}\n", words.join(" "));
            state.output.write(2, line.as_bytes())?;
            JsValue::Undefined
        }
        JsBuiltin::WrapGoFunction => {
            let number = match arguments {
                [JsValue::Number(number), ..] => *number,
                _ => 0.0,
            };
            JsValue::Object(values.add(JsKind::GoFunction(number), 0)?)
        }
        JsBuiltin::Object
        | JsBuiltin::Array
        | JsBuiltin::Uint8Array
        | JsBuiltin::Date
        | JsBuiltin::Error => {
            return construct(values, builtin, arguments);
        }
    }))
}

/// `new function(arguments)`
pub(super) fn construct_value(
    values: &mut GoValues,
    function: &JsValue,
    arguments: &[JsValue],
) -> Result<Thrown, Stop> {
    let builtin = match function {
        JsValue::Object(id) => match values.object(*id).map(|object| &object.kind) {
            Some(JsKind::Builtin(builtin)) => Some(*builtin),
            _ => None,
        },
        _ => None,
    };
    match builtin {
        Some(builtin) => construct(values, builtin, arguments),
        None => error(values, "the value is not a constructor").map(Err),
    }
}

fn construct(
    values: &mut GoValues,
    builtin: JsBuiltin,
    arguments: &[JsValue],
) -> Result<Thrown, Stop> {
    let made = match (builtin, arguments) {
        (JsBuiltin::Object, _) => values.add(JsKind::Plain, 0)?,
        // Elements are set one after the other; holes are not needed.
        (JsBuiltin::Array, [] | [JsValue::Number(_)]) => values.add_array(Vec::new())?,
        (JsBuiltin::Array, items) => values.add_array(items.to_vec())?,
        (JsBuiltin::Uint8Array, [JsValue::Number(length), ..]) => {
            values.add_bytes(*length as u64)?
        }
        (JsBuiltin::Uint8Array, _) => values.add_bytes(0)?,
        (JsBuiltin::Date, _) => {
            let date = values.add(JsKind::Plain, 0)?;
            for name in ["getTimezoneOffset", "getTime", "valueOf"] {
                set_function(values, date, name, JsBuiltin::Zero)?;
            }
            date
        }
        (JsBuiltin::Error, arguments) => {
            let message = arguments.first().map(text_of).unwrap_or_default();
            return error(values, &message).map(Ok);
        }
        _ => return error(values, "the value is not a constructor").map(Err),
    };
    Ok(Ok(JsValue::Object(made)))
}

/// `fs.write(descriptor, buffer, offset, length, position, callback)`: calls back at once.
fn write(guest: &mut dyn Guest, arguments: &[JsValue]) -> Result<Thrown, Stop> {
    let state = guest.state();
    let [
        JsValue::Number(descriptor),
        JsValue::Object(buffer),
        JsValue::Number(offset),
        JsValue::Number(length),
        JsValue::Null,
        ..,
    ] = arguments
    else {
        let error = not_implemented(&mut state.go)?;
        return call_back(guest, arguments, &[error]);
    };
    let bytes = match state.go.object(*buffer).map(|object| &object.kind) {
        Some(JsKind::Bytes(bytes)) => {
            let start = *offset as usize;
            bytes.get(start..start.saturating_add(*length as usize))
        }
        _ => None,
    };
    match (*descriptor, bytes) {
        (1.0 | 2.0, Some(bytes)) => {
            let count = bytes.len() as f64;
            state.output.write(*descriptor as u32, bytes)?;
            call_back(guest, arguments, &[JsValue::Null, JsValue::Number(count)])
        }
        _ => {
            let error = not_implemented(&mut state.go)?;
            call_back(guest, arguments, &[error])
        }
    }
}

/// Calls the function that is the last argument.
fn call_back(
    guest: &mut dyn Guest,
    arguments: &[JsValue],
    answer: &[JsValue],
) -> Result<Thrown, Stop> {
    match arguments.last() {
        Some(callback @ JsValue::Object(_)) => call(guest, callback, &JsValue::Undefined, answer)?
            .map_or_else(|thrown| Ok(Err(thrown)), |_| Ok(Ok(JsValue::Undefined))),
        _ => Ok(Ok(JsValue::Undefined)),
    }
}

fn not_implemented(values: &mut GoValues) -> Result<JsValue, Stop> {
    let thrown = error(values, "not implemented")?;
    if let JsValue::Object(id) = thrown {
        values.set_property(id, "code", JsValue::Text("ENOSYS".into()))?;
    }
    Ok(thrown)
}

pub(super) fn error(values: &mut GoValues, message: &str) -> Result<JsValue, Stop> {
    let id = values.add(JsKind::Plain, 0)?;
    values.set_property(id, "message", JsValue::Text(message.into()))?;
    Ok(JsValue::Object(id))
}

/// A value as `String()` writes it.
pub(super) fn text_of(value: &JsValue) -> String {
    match value {
        JsValue::Undefined => "undefined".to_owned(),
        JsValue::Null => "null".to_owned(),
        JsValue::Boolean(boolean) => boolean.to_string(),
        JsValue::Number(number) => number.to_string(),
        JsValue::Text(text) => text.as_ref().to_owned(),
        JsValue::Object(_) => "[object Object]".to_owned(),
    }
}
