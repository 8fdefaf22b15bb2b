//! The functions that Go programs import. Each gets the stack pointer; arguments follow at `pointer + 8`, results after them.

use super::builtins::JsBuiltin;
use super::calls::{self, Thrown, text_of};
use super::stack::GoStack;
use super::values::{JsKind, JsValue};
use crate::host::{Guest, HostBody, HostFunction, NumberType, SharedText, Signature, Stop};

/// All functions.
pub(crate) const FUNCTIONS: &[HostFunction] = &[
    function("debug", |guest, pointer| {
        let line = format!("{}\n", pointer);
        guest.state().output.write(2, line.as_bytes())
    }),
    function("runtime.wasmExit", |guest, pointer| {
        let code = GoStack::new(guest, pointer).word(8)?;
        Err(Stop::Exit(code as i32))
    }),
    function("runtime.wasmWrite", write),
    function("runtime.resetMemoryDataView", |_, _| Ok(())),
    function("runtime.nanotime1", |guest, pointer| {
        let now = guest.state().clock.monotonic();
        GoStack::new(guest, pointer).set_long(8, now)
    }),
    function("runtime.walltime", walltime),
    // The name before Go 1.16.
    function("runtime.walltime1", walltime),
    function("runtime.scheduleTimeoutEvent", |guest, pointer| {
        let now = guest.state().clock.monotonic();
        let mut stack = GoStack::new(guest, pointer);
        let milliseconds = stack.long(8)?;
        let due = now.saturating_add(milliseconds.saturating_mul(1_000_000));
        let number = stack.values.add_timer(due)?;
        stack.set_word(16, number)?;
        // Nothing can run before: Go asks for a timeout only when it is idle. In a function that the host called it then looks
        // at the clock until the time has come.
        guest.state().clock.skip_to(due);
        Ok(())
    }),
    function("runtime.clearTimeoutEvent", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let number = stack.word(8)?;
        stack.values.timers.due.remove(&number);
        Ok(())
    }),
    function("runtime.getRandomData", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (address, length) = (stack.long(8)?, stack.long(16)?);
        let (mut memory, state) = guest.parts();
        state.random.fill(memory.bytes_mut(address, length)?)
    }),
    function("syscall/js.finalizeRef", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let number = stack.word(8)?;
        stack.values.release(number);
        Ok(())
    }),
    function("syscall/js.stringVal", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let text = stack.text(8)?;
        stack.set_value(24, JsValue::Text(text))
    }),
    function("syscall/js.valueGet", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let (value, name) = (stack.value(8)?, stack.text(16)?);
        let found = get(&stack, &value, &name);
        stack.set_value(32, found)
    }),
    function("syscall/js.valueSet", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (object, name, value) = (stack.value(8)?, stack.text(16)?, stack.value(32)?);
        match object {
            JsValue::Object(id) => stack.values.set_property(id, &name, value),
            _ => Ok(()),
        }
    }),
    function("syscall/js.valueDelete", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (object, name) = (stack.value(8)?, stack.text(16)?);
        if let JsValue::Object(id) = object {
            stack.values.delete_property(id, &name);
        }
        Ok(())
    }),
    function("syscall/js.valueIndex", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let (object, index) = (stack.value(8)?, stack.long(16)?);
        let found = element(&stack, &object, index);
        stack.set_value(24, found)
    }),
    function("syscall/js.valueSetIndex", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (object, index, value) = (stack.value(8)?, stack.long(16)?, stack.value(24)?);
        match (object, usize::try_from(index)) {
            (JsValue::Object(id), Ok(index)) => stack.values.set_element(id, index, value),
            _ => Ok(()),
        }
    }),
    function("syscall/js.valueCall", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (object, name) = (stack.value(8)?, stack.text(16)?);
        let arguments = stack.values(32)?;
        let method = get(&stack, &object, &name);
        let answer = calls::call(guest, &method, &object, &arguments)?;
        put_answer(guest, answer, 56)
    }),
    function("syscall/js.valueInvoke", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (called, arguments) = (stack.value(8)?, stack.values(16)?);
        let answer = calls::call(guest, &called, &JsValue::Undefined, &arguments)?;
        put_answer(guest, answer, 40)
    }),
    function("syscall/js.valueNew", |guest, pointer| {
        let stack = GoStack::new(guest, pointer);
        let (called, arguments) = (stack.value(8)?, stack.values(16)?);
        let answer = calls::construct_value(stack.values, &called, &arguments)?;
        put_answer(guest, answer, 40)
    }),
    function("syscall/js.valueLength", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let length = match stack.value(8)? {
            JsValue::Text(text) => text.encode_utf16().count(),
            JsValue::Object(id) => match stack.values.object(id).map(|object| &object.kind) {
                Some(JsKind::Array(items)) => items.len(),
                Some(JsKind::Bytes(bytes)) => bytes.len(),
                _ => 0,
            },
            _ => 0,
        };
        stack.set_long(16, length as u64)
    }),
    function("syscall/js.valuePrepareString", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let text: SharedText = match stack.value(8)? {
            JsValue::Text(text) => text,
            other => text_of(&other).into(),
        };
        let length = text.len() as u64;
        stack.set_value(16, JsValue::Text(text))?;
        stack.set_long(24, length)
    }),
    function("syscall/js.valueLoadString", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        if let JsValue::Text(text) = stack.value(8)? {
            copy(text.as_bytes(), stack.bytes_mut(16)?);
        }
        Ok(())
    }),
    function("syscall/js.valueInstanceOf", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let (value, class) = (stack.value(8)?, stack.value(16)?);
        let is_instance = is_instance(&stack, &value, &class);
        stack.set_bool(24, is_instance)
    }),
    function("syscall/js.copyBytesToGo", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let (address, length) = (stack.long(8)?, stack.long(16)?);
        let source = match stack.value(32)? {
            JsValue::Object(id) => stack.values.object(id),
            _ => None,
        };
        let Some(JsKind::Bytes(source)) = source.map(|object| &object.kind) else {
            return stack.set_bool(48, false);
        };
        let copied = copy(source, stack.memory.bytes_mut(address, length)?);
        stack.set_long(40, copied)?;
        stack.set_bool(48, true)
    }),
    function("syscall/js.copyBytesToJS", |guest, pointer| {
        let mut stack = GoStack::new(guest, pointer);
        let (address, length) = (stack.long(16)?, stack.long(24)?);
        let target = match stack.value(8)? {
            JsValue::Object(id) => stack.values.object_mut(id),
            _ => None,
        };
        let Some(JsKind::Bytes(target)) = target.map(|object| &mut object.kind) else {
            return stack.set_bool(48, false);
        };
        let copied = copy(stack.memory.bytes(address, length)?, target);
        stack.set_long(40, copied)?;
        stack.set_bool(48, true)
    }),
];

type OnStack = fn(&mut dyn Guest, u32) -> Result<(), Stop>;

const fn function(name: &'static str, run: OnStack) -> HostFunction {
    HostFunction {
        name,
        signature: Signature {
            parameters: &[NumberType::I32],
            result: None,
        },
        body: HostBody::Stack(run),
    }
}

/// `runtime.wasmWrite(descriptor, address, length)`
fn write(guest: &mut dyn Guest, pointer: u32) -> Result<(), Stop> {
    let stack = GoStack::new(guest, pointer);
    let (descriptor, address, length) = (stack.long(8)?, stack.long(16)?, stack.word(24)?);
    let (memory, state) = guest.parts();
    let bytes = memory.bytes(address, length.into())?;
    let stream = if descriptor == 1 { 1 } else { 2 };
    state.output.write(stream, bytes)
}

/// `runtime.walltime() (seconds, nanoseconds)`
fn walltime(guest: &mut dyn Guest, pointer: u32) -> Result<(), Stop> {
    let now = guest.state().clock.wall();
    let mut stack = GoStack::new(guest, pointer);
    stack.set_long(8, now / 1_000_000_000)?;
    stack.set_word(16, (now % 1_000_000_000) as u32)
}

/// A property.
fn get(stack: &GoStack<'_>, value: &JsValue, name: &str) -> JsValue {
    match value {
        JsValue::Object(id) => stack.values.property(*id, name),
        _ => JsValue::Undefined,
    }
}

fn element(stack: &GoStack<'_>, value: &JsValue, index: u64) -> JsValue {
    let JsValue::Object(id) = value else {
        return JsValue::Undefined;
    };
    let Ok(index) = usize::try_from(index) else {
        return JsValue::Undefined;
    };
    let found = match stack.values.object(*id).map(|object| &object.kind) {
        Some(JsKind::Array(items)) => items.get(index).cloned(),
        Some(JsKind::Bytes(bytes)) => bytes.get(index).map(|byte| JsValue::Number((*byte).into())),
        _ => None,
    };
    found.unwrap_or(JsValue::Undefined)
}

fn is_instance(stack: &GoStack<'_>, value: &JsValue, class: &JsValue) -> bool {
    let (JsValue::Object(value), JsValue::Object(class)) = (value, class) else {
        return false;
    };
    let kind = |id| stack.values.object(id).map(|object| &object.kind);
    matches!(
        (kind(*value), kind(*class)),
        (
            Some(JsKind::Bytes(_)),
            Some(JsKind::Builtin(JsBuiltin::Uint8Array))
        ) | (
            Some(JsKind::Array(_)),
            Some(JsKind::Builtin(JsBuiltin::Array))
        ) | (Some(_), Some(JsKind::Builtin(JsBuiltin::Object)))
    )
}

/// Stores the result of a call. The call may have moved the stack.
fn put_answer(guest: &mut dyn Guest, answer: Thrown, offset: u64) -> Result<(), Stop> {
    let pointer = guest.call("getsp", &[])?.unwrap_or(0);
    let mut stack = GoStack::new(guest, pointer as u32);
    let (value, is_success) = match answer {
        Ok(value) => (value, true),
        Err(thrown) => (thrown, false),
    };
    stack.set_value(offset, value)?;
    stack.set_bool(offset + 8, is_success)
}

/// Copies as much as fits; returns how much.
fn copy(source: &[u8], target: &mut [u8]) -> u64 {
    let count = source.len().min(target.len());
    if let (Some(target), Some(source)) = (target.get_mut(..count), source.get(..count)) {
        target.copy_from_slice(source);
    }
    count as u64
}
