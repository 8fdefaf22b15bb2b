//! Runs a Go program with the `js` interface: starts it, waits until it has registered its function, calls that.

use super::calls::{begin_event, resume};
use super::values::{JsKind, JsValue};
use crate::host::{Guest, SharedText, Stop};

/// The function that programs register, and the one that returns the messages of failed results.
const PROCESS: &str = "processResourceList";
const ERRORS: &str = "processResourceListErrors";

/// Where the arguments of the program begin, and where its data begin.
const ARGUMENTS: u64 = 4096;
const DATA: u64 = 4096 + 8192;

/// What a program answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum GoAnswer {
    /// A list.
    List(String),
    /// A text that is not a list, and the messages of failed results.
    NotList { text: String, errors: String },
}

/// Calls the function with the input of the call. `is_list` decides whether an answer is a list.
pub(crate) fn run(guest: &mut dyn Guest, is_list: impl Fn(&str) -> bool) -> Result<GoAnswer, Stop> {
    let arguments = put_arguments(guest)?;
    guest.call("run", &[1, arguments as i32])?;
    while function(guest, PROCESS).is_none() {
        if !pass_time(guest)? {
            let text = format!("the module did not register the function {PROCESS}");
            return Err(Stop::Trap(text));
        }
    }
    let input = std::mem::take(&mut guest.state().input);
    let input: SharedText = match String::from_utf8(input) {
        Ok(text) => text.into(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into(),
    };
    let input = [JsValue::Text(input)];
    let text = call(guest, PROCESS, &input)?;
    if is_list(&text) {
        return Ok(GoAnswer::List(text));
    }
    let errors = match function(guest, ERRORS) {
        Some(_) => call(guest, ERRORS, &input)?,
        None => String::new(),
    };
    Ok(GoAnswer::NotList { text, errors })
}

/// Writes the name of the program and its list of arguments; the environment is empty. Returns the address of the list.
fn put_arguments(guest: &mut dyn Guest) -> Result<u64, Stop> {
    let (mut memory, _) = guest.parts();
    let list = ARGUMENTS + 8;
    debug_assert!(list + 24 <= DATA, "arguments end before the data");
    memory.write(ARGUMENTS, b"js\0")?;
    for (index, address) in [ARGUMENTS, 0, 0].into_iter().enumerate() {
        memory.set_u64(list + 8 * index as u64, address)?;
    }
    Ok(list)
}

/// The number of a function that the program registered.
fn function(guest: &mut dyn Guest, name: &str) -> Option<f64> {
    let values = &guest.state().go;
    let JsValue::Object(id) = values.property(values.global, name) else {
        return None;
    };
    match values.object(id)?.kind {
        JsKind::GoFunction(number) => Some(number),
        _ => None,
    }
}

/// Calls a function of the program, which may start timers and wait for them.
fn call(guest: &mut dyn Guest, name: &str, arguments: &[JsValue]) -> Result<String, Stop> {
    let number = function(guest, name).unwrap_or(0.0);
    let event = begin_event(
        &mut guest.state().go,
        number,
        &JsValue::Undefined,
        arguments,
    )?;
    resume(guest)?;
    loop {
        match guest.state().go.property(event, "result") {
            JsValue::Text(text) => return Ok(text.as_ref().to_owned()),
            JsValue::Undefined => {}
            _ => {
                let text = format!("the function {name} of the module did not return a text");
                return Err(Stop::Trap(text));
            }
        }
        if !pass_time(guest)? {
            let text = format!("the function {name} of the module did not return");
            return Err(Stop::Trap(text));
        }
    }
}

/// Lets time pass until the next timer is due, and lets the program handle it. Returns whether there was one.
fn pass_time(guest: &mut dyn Guest) -> Result<bool, Stop> {
    let state = guest.state();
    let Some(due) = state.go.take_first_timer() else {
        return Ok(false);
    };
    state.clock.sleep(due, &state.interrupt)?;
    resume(guest)?;
    Ok(true)
}
