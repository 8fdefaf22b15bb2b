//! The machine: a stack of values, a stack of calls, a stack of iterations.
//!
//! Functions of the program call each other without using Rust's stack. A second machine is started only where a
//! function of the language calls one of the program (`sorted` with a key).

use std::rc::Rc;

use super::arguments::Arguments;
use super::attribute::attribute_or_hint;
use super::call::call_native;
use super::census::Census;
use super::context::Context;
use super::index::{index, set_index};
use super::operators::{binary, invert, negate, plus};
use super::slice::slice;
use crate::builtins::find_method;
use crate::compile::{CallShape, Op, SlotName};
use crate::error::{Failure, Frame, fail};
use crate::value::{Dict, Iter, ProgramFunction, Repr, Value, compare};

#[derive(Default)]
pub(crate) struct Machine {
    pub(super) stack: Vec<Value>,
    pub(super) calls: Vec<ActiveCall>,
    pub(super) iterations: Vec<Iter>,
}

/// A call of a function of the program.
pub(super) struct ActiveCall {
    pub(super) function: Rc<ProgramFunction>,
    /// The next instruction.
    pub(super) next: usize,
    /// Where the variables begin on the stack; the function itself is below.
    pub(super) base: usize,
    /// How many iterations were active before.
    pub(super) iterations: usize,
}

pub(super) type ExecResult<T = ()> = Result<T, Failure>;

impl Machine {
    /// Runs a function of the program to its end.
    pub(crate) fn run_function(
        &mut self,
        ctx: &mut Context<'_>,
        function: &Rc<ProgramFunction>,
        arguments: &[Value],
    ) -> ExecResult<Value> {
        let (calls, active) = (ctx.calls, ctx.active.len());
        self.stack.push(Value(Repr::Function(Rc::clone(function))));
        self.stack.extend_from_slice(arguments);
        let shape = CallShape {
            positional: u8::try_from(arguments.len()).unwrap_or(u8::MAX),
            named: 0,
            list: false,
            dict: false,
        };
        let result = self.call(ctx, shape).and_then(|_| self.run(ctx));
        ctx.calls = calls;
        ctx.active.truncate(active);
        result.map_err(|failure| self.with_frames(failure))
    }

    /// Calls any callable value.
    pub(super) fn call_from_outside(
        &mut self,
        ctx: &mut Context<'_>,
        callee: &Value,
        arguments: &[Value],
    ) -> ExecResult<Value> {
        match &callee.0 {
            Repr::Function(function) => self.run_function(ctx, function, arguments),
            Repr::Builtin(builtin) => {
                let receiver = builtin.receiver.clone().unwrap_or(Value::NONE);
                let arguments = Arguments {
                    name: builtin.name(),
                    receiver: &receiver,
                    positional: arguments,
                    named: &[],
                };
                call_native(ctx, builtin.function, &arguments)
            }
            _ => fail(format!(
                "invalid call of non-function ({})",
                callee.type_name()
            )),
        }
    }

    /// Adds the current calls to a failure.
    fn with_frames(&self, mut failure: Failure) -> Failure {
        for call in self.calls.iter().rev() {
            let code = &call.function.code;
            let position = code.positions.get(call.next.saturating_sub(1)).copied();
            let position = Some(position.unwrap_or(code.position));
            failure.add_frame(Frame {
                function: Rc::clone(&code.name),
                position,
            });
        }
        failure
    }

    pub(super) fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::UNSET)
    }

    /// The value `depth` below the topmost.
    pub(super) fn peek(&self, depth: usize) -> &Value {
        const UNSET: &Value = &Value::UNSET;
        self.stack
            .len()
            .checked_sub(depth + 1)
            .and_then(|i| self.stack.get(i))
            .unwrap_or(UNSET)
    }

    /// Runs until the first call returns.
    fn run(&mut self, ctx: &mut Context<'_>) -> ExecResult<Value> {
        let mut next = 0;
        let result = self.execute(ctx, &mut next);
        if result.is_err() {
            self.note(next);
        }
        result
    }

    /// Records the position of the innermost call.
    fn note(&mut self, next: usize) {
        if let Some(call) = self.calls.last_mut() {
            call.next = next;
        }
    }

    fn execute(&mut self, ctx: &mut Context<'_>, place: &mut usize) -> ExecResult<Value> {
        let Some(call) = self.calls.last() else {
            return Ok(self.pop());
        };
        let mut function = Rc::clone(&call.function);
        let mut code = Rc::clone(&function.code);
        let mut base = call.base;
        let mut next = call.next;
        let linked = Rc::clone(&ctx.linked);
        let usage = ctx.usage;
        loop {
            if usage.step() {
                self.pause(ctx)?;
            }
            let Some(op) = code.ops.get(next).copied() else {
                return fail("internal error: ran off the end of a function");
            };
            next += 1;
            *place = next;
            match op {
                Op::Local(slot) => {
                    let value = self
                        .stack
                        .get(base + slot as usize)
                        .unwrap_or(&Value::UNSET);
                    if value.is_unset() {
                        return unassigned("local", &code.locals, slot);
                    }
                    let value = value.clone();
                    self.stack.push(value);
                }
                Op::Constant(constant) => {
                    let value = linked.constants.get(constant as usize);
                    self.stack.push(value.cloned().unwrap_or(Value::NONE));
                }
                Op::SetLocal(slot) => {
                    let value = self.pop();
                    if let Some(local) = self.stack.get_mut(base + slot as usize) {
                        *local = value;
                    }
                }
                Op::Pop => {
                    self.pop();
                }
                Op::Dup => self.stack.push(self.peek(0).clone()),
                Op::Dup2 => {
                    let (x, y) = (self.peek(1).clone(), self.peek(0).clone());
                    self.stack.push(x);
                    self.stack.push(y);
                }
                Op::Exchange => {
                    let (y, x) = (self.pop(), self.pop());
                    self.stack.push(y);
                    self.stack.push(x);
                }
                Op::Compare(comparison) => {
                    let (y, x) = (self.pop(), self.pop());
                    self.stack
                        .push(Value::from(compare(usage, comparison, &x, &y)?));
                }
                Op::Binary(operator) => {
                    let (y, x) = (self.pop(), self.pop());
                    self.stack.push(binary(ctx, operator, &x, &y)?);
                }
                Op::Plus => {
                    let value = self.pop();
                    self.stack.push(plus(&value)?);
                }
                Op::Minus => {
                    let value = self.pop();
                    self.stack.push(negate(usage, &value)?);
                }
                Op::Invert => {
                    let value = self.pop();
                    self.stack.push(invert(usage, &value)?);
                }
                Op::Not => {
                    let value = self.pop();
                    self.stack.push(Value::from(!value.truth()));
                }
                Op::AddInPlace => self.add_in_place(ctx)?,
                Op::MergeInPlace => self.merge_in_place(ctx)?,
                Op::None => self.stack.push(Value::NONE),
                Op::True => self.stack.push(Value::from(true)),
                Op::False => self.stack.push(Value::from(false)),
                Op::Mandatory => self.stack.push(Value(Repr::Mandatory)),
                Op::Jump(target) => next = target as usize,
                Op::JumpIfNot(target) => {
                    if !self.pop().truth() {
                        next = target as usize;
                    }
                }
                Op::JumpIfOrPop(target) => match self.peek(0).truth() {
                    true => next = target as usize,
                    false => drop(self.pop()),
                },
                Op::JumpIfNotOrPop(target) => match self.peek(0).truth() {
                    false => next = target as usize,
                    true => drop(self.pop()),
                },
                Op::IterPush => {
                    let value = self.pop();
                    match Iter::new(&value) {
                        Some(iter) => self.iterations.push(iter),
                        None => {
                            return fail(format!("{} value is not iterable", value.type_name()));
                        }
                    }
                }
                Op::IterNext(end) => match self.iterations.last_mut().and_then(Iter::next) {
                    Some(element) => self.stack.push(element),
                    None => next = end as usize,
                },
                Op::IterPop => {
                    self.iterations.pop();
                }
                Op::Return => {
                    let result = self.pop();
                    if let Some(call) = self.calls.pop() {
                        ctx.calls -= 1;
                        ctx.active.pop();
                        self.iterations.truncate(call.iterations);
                        self.stack.truncate(call.base - 1);
                    }
                    let Some(call) = self.calls.last() else {
                        return Ok(result);
                    };
                    self.stack.push(result);
                    function = Rc::clone(&call.function);
                    code = Rc::clone(&function.code);
                    base = call.base;
                    next = call.next;
                }
                Op::Index => {
                    let (key, object) = (self.pop(), self.pop());
                    self.stack.push(index(usage, &object, &key)?);
                }
                Op::IndexConstant(constant) => {
                    let object = self.pop();
                    let key = linked.constants.get(constant as usize);
                    self.stack
                        .push(index(usage, &object, key.unwrap_or(&Value::NONE))?);
                }
                Op::SetIndex => {
                    let (value, key, object) = (self.pop(), self.pop(), self.pop());
                    set_index(ctx, &object, key, value)?;
                }
                Op::Slice => {
                    let (step, high) = (self.pop(), self.pop());
                    let (low, object) = (self.pop(), self.pop());
                    self.stack.push(slice(ctx, &object, &low, &high, &step)?);
                }
                Op::Attribute(name) => {
                    let object = self.pop();
                    let name = name_of(&linked.code.names, name);
                    self.stack.push(attribute_or_hint(&object, name)?);
                }
                Op::SetField(name) => {
                    let object = self.peek(1);
                    let name = name_of(&linked.code.names, name);
                    let type_name = object.type_name();
                    return fail(format!("can't assign to .{name} field of {type_name}"));
                }
                Op::Method(name) => {
                    let object = self.pop();
                    let name = name_of(&linked.code.names, name);
                    match find_method(&object, name) {
                        Some(method) => {
                            self.stack.push(Value(Repr::Method(method)));
                            self.stack.push(object);
                        }
                        None => {
                            let value = attribute_or_hint(&object, name)?;
                            self.stack.push(value);
                            self.stack.push(Value::UNSET);
                        }
                    }
                }
                Op::Call(shape) => {
                    self.note(next);
                    if self.call(ctx, shape)?
                        && let Some(call) = self.calls.last()
                    {
                        function = Rc::clone(&call.function);
                        code = Rc::clone(&function.code);
                        base = call.base;
                        next = 0;
                    }
                }
                Op::CallMethod(shape) => {
                    self.note(next);
                    if self.call_method(ctx, shape)?
                        && let Some(call) = self.calls.last()
                    {
                        function = Rc::clone(&call.function);
                        code = Rc::clone(&function.code);
                        base = call.base;
                        next = 0;
                    }
                }
                Op::MakeTuple(count) => {
                    let elements = self.take(count);
                    ctx.allocate_exactly(elements.len())?;
                    self.stack.push(Value::tuple(elements));
                }
                Op::MakeList(count) => {
                    let elements = self.take(count);
                    ctx.allocate_exactly(elements.len())?;
                    self.stack.push(Value::list(elements));
                }
                Op::MakeDict => {
                    ctx.allocate(128)?;
                    self.stack.push(Value::from(Dict::default()));
                }
                Op::SetEntry | Op::AddEntry => {
                    let (value, key) = (self.pop(), self.pop());
                    let Repr::Dict(dict) = &self.peek(0).0 else {
                        return fail("internal error: no dict to add to");
                    };
                    let is_new = dict.insert(usage, key.clone(), value)?;
                    if !is_new && matches!(op, Op::AddEntry) {
                        return fail(format!("duplicate key: {}", key.shown(usage)?));
                    }
                }
                Op::Append => {
                    let value = self.pop();
                    let Repr::List(list) = &self.peek(0).0 else {
                        return fail("internal error: no list to append to");
                    };
                    ctx.allocate_values(1)?;
                    list.change(|elements| elements.push(value));
                }
                Op::Unpack(count) => {
                    let sequence = self.pop();
                    self.unpack(ctx, &sequence, count as usize)?;
                }
                Op::MakeFunction {
                    function: number,
                    defaults,
                } => {
                    let defaults = self.take(u32::from(defaults));
                    let code = linked
                        .code
                        .functions
                        .get(number as usize)
                        .cloned()
                        .flatten();
                    let Some(code) = code else {
                        return fail("internal error: no such function");
                    };
                    ctx.allocate(96 + (code.captures.len() + defaults.len()) * 24)?;
                    let value = self.make_function(&function, base, code, defaults);
                    self.stack.push(value);
                }
                Op::Load(count) => self.load(ctx, count)?,
                Op::LocalCell(slot) => match self.stack.get(base + slot as usize) {
                    Some(Value(Repr::Cell(cell))) => {
                        let value = cell.get();
                        if value.is_unset() {
                            return unassigned("local", &code.locals, slot);
                        }
                        self.stack.push(value);
                    }
                    _ => return unassigned("local", &code.locals, slot),
                },
                Op::FreeCell(slot) => {
                    let value = function.free.get(slot as usize).map(|cell| cell.get());
                    match value.filter(|value| !value.is_unset()) {
                        Some(value) => self.stack.push(value),
                        None => return unassigned("local", &code.free, slot),
                    }
                }
                Op::SetLocalCell(slot) => {
                    let value = self.pop();
                    if let Some(Value(Repr::Cell(cell))) = self.stack.get(base + slot as usize) {
                        cell.set(value);
                    }
                }
                Op::Global(slot) => {
                    let value = linked.globals.borrow().get(slot as usize).cloned();
                    match value.filter(|value| !value.is_unset()) {
                        Some(value) => self.stack.push(value),
                        None => return unassigned("global", &linked.code.globals, slot),
                    }
                }
                Op::SetGlobal(slot) => {
                    let value = self.pop();
                    let old = match linked.globals.borrow_mut().get_mut(slot as usize) {
                        Some(global) => std::mem::replace(global, value),
                        None => Value::UNSET,
                    };
                    drop(old);
                }
                Op::Predeclared(name) => {
                    let value = linked.predeclared.get(name as usize);
                    self.stack.push(value.cloned().unwrap_or(Value::NONE));
                }
                Op::Universal(name) => {
                    let value = linked.universal.get(name as usize);
                    self.stack.push(value.cloned().unwrap_or(Value::NONE));
                }
            }
        }
    }

    /// Checks the limits. If much memory has been allocated, counts how much of it is still reachable.
    #[cold]
    fn pause(&mut self, ctx: &mut Context<'_>) -> ExecResult {
        // The values of other machines are not visible here.
        if ctx.usage.is_census_due() && ctx.native_calls == 0 {
            let mut census = Census::default();
            census.add_all(&self.stack);
            for iteration in &self.iterations {
                census.add_all([&iteration.source()]);
            }
            let linked = &ctx.linked;
            census.add_all(&linked.constants);
            census.add_all(&linked.predeclared);
            census.add_all(linked.globals.borrow().iter());
            for value in ctx.heap.values() {
                census.add(&value);
            }
            ctx.usage.set_live(census.bytes());
            ctx.usage.charge(census.count)?;
        }
        ctx.usage.check()?;
        ctx.usage.resume();
        Ok(())
    }

    /// Pops the topmost values, in the order in which they were pushed.
    pub(super) fn take(&mut self, count: u32) -> Vec<Value> {
        let start = self.stack.len().saturating_sub(count as usize);
        self.stack.split_off(start)
    }
}

fn name_of(names: &[String], name: u32) -> &str {
    names.get(name as usize).map_or("", String::as_str)
}

fn unassigned<T>(kind: &str, names: &[SlotName], slot: u32) -> ExecResult<T> {
    let name = names.get(slot as usize).map_or("", |slot| &*slot.name);
    fail(format!(
        "{kind} variable {name} referenced before assignment"
    ))
}

/// All elements of an iteration, charged.
pub(crate) fn collect(ctx: &Context<'_>, iter: Iter) -> Result<Vec<Value>, Failure> {
    let mut elements = Vec::new();
    let element_bytes = 2 * size_of::<Value>() + iter.new_bytes();
    for element in iter {
        ctx.allocate(element_bytes)?;
        ctx.charge(1)?;
        elements.push(element);
    }
    Ok(elements)
}
