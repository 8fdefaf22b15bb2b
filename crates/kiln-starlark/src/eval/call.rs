//! Calls of functions of the program, which are entered, and of functions of the language, which run to their end.

use std::rc::Rc;

use super::arguments::Arguments;
use super::bind::bind;
use super::context::Context;
use super::machine::{ActiveCall, ExecResult, Machine, collect};
use crate::compile::{CallShape, Code};
use crate::error::{Failure, Frame, fail};
use crate::limits::MAX_CALLS;
use crate::value::{Iter, NativeFn, ProgramFunction, Repr, Value};

impl Machine {
    /// Calls the value on the stack below the arguments. Returns whether a function of the program was entered.
    pub(super) fn call(&mut self, ctx: &mut Context<'_>, shape: CallShape) -> ExecResult<bool> {
        let fixed = usize::from(shape.positional) + 2 * usize::from(shape.named);
        let above = fixed + usize::from(shape.list) + usize::from(shape.dict);
        let callee = self.peek(above).clone();
        match &callee.0 {
            Repr::Function(function) => self.enter(ctx, function, shape).map(|()| true),
            Repr::Builtin(builtin) => {
                let receiver = builtin.receiver.clone().unwrap_or(Value::NONE);
                let counts = self.spread(ctx, shape)?;
                let result =
                    self.native(ctx, builtin.name(), builtin.function, &receiver, counts)?;
                self.pop();
                self.stack.push(result);
                Ok(false)
            }
            _ => {
                self.spread(ctx, shape)?;
                fail(format!(
                    "invalid call of non-function ({})",
                    callee.type_name()
                ))
            }
        }
    }

    pub(super) fn call_method(
        &mut self,
        ctx: &mut Context<'_>,
        shape: CallShape,
    ) -> ExecResult<bool> {
        let fixed = usize::from(shape.positional) + 2 * usize::from(shape.named);
        let above = fixed + usize::from(shape.list) + usize::from(shape.dict);
        let Repr::Method(method) = self.peek(above + 1).0 else {
            // Not a method: close the gap for its object.
            let gap = self.stack.len().saturating_sub(above + 1);
            if gap < self.stack.len() {
                self.stack.remove(gap);
            }
            return self.call(ctx, shape);
        };
        let receiver = self.peek(above).clone();
        let counts = self.spread(ctx, shape)?;
        let result = self.native(ctx, method.name, method.function, &receiver, counts)?;
        self.pop();
        self.pop();
        self.stack.push(result);
        Ok(false)
    }

    /// Puts the elements of `*list` and `**dict` after the other arguments; returns the number of positional
    /// arguments and of values of named ones.
    fn spread(&mut self, ctx: &Context<'_>, shape: CallShape) -> ExecResult<(usize, usize)> {
        let mut positional = usize::from(shape.positional);
        let mut named = 2 * usize::from(shape.named);
        if !shape.list && !shape.dict {
            return Ok((positional, named));
        }
        let dict = if shape.dict { self.pop() } else { Value::UNSET };
        let list = if shape.list { self.pop() } else { Value::UNSET };
        let mut pairs = Vec::new();
        if shape.dict {
            let Repr::Dict(dict) = &dict.0 else {
                let type_name = dict.type_name();
                return fail(format!(
                    "argument after ** must be a mapping, not {type_name}"
                ));
            };
            ctx.allocate_values(2 * dict.len())?;
            for (key, value) in dict.items() {
                if key.as_str_bytes().is_none() {
                    let type_name = key.type_name();
                    return fail(format!("keywords must be strings, not {type_name}"));
                }
                pairs.extend([key, value]);
            }
        }
        if shape.list {
            let Some(iter) = Iter::new(&list) else {
                let type_name = list.type_name();
                return fail(format!(
                    "argument after * must be iterable, not {type_name}"
                ));
            };
            let at = self.stack.len().saturating_sub(named);
            let before = self.stack.split_off(at);
            let length = self.stack.len();
            self.stack.append(&mut collect(ctx, iter)?);
            positional += self.stack.len() - length;
            self.stack.extend(before);
        }
        named += pairs.len();
        self.stack.extend(pairs);
        Ok((positional, named))
    }

    /// Calls a function of the language and removes its arguments from the stack.
    fn native(
        &mut self,
        ctx: &mut Context<'_>,
        name: &'static str,
        function: NativeFn,
        receiver: &Value,
        (positional, named): (usize, usize),
    ) -> ExecResult<Value> {
        let start = self.stack.len().saturating_sub(positional + named);
        let result = {
            let all = self.stack.get(start..).unwrap_or_default();
            let (positional, named) = all.split_at(positional.min(all.len()));
            let arguments = Arguments {
                name,
                receiver,
                positional,
                named,
            };
            call_native(ctx, function, &arguments)
        };
        self.stack.truncate(start);
        result
    }

    fn enter(
        &mut self,
        ctx: &mut Context<'_>,
        function: &Rc<ProgramFunction>,
        shape: CallShape,
    ) -> ExecResult {
        let code = &function.code;
        check_depth(ctx, code)?;
        let given = usize::from(shape.positional);
        let is_plain = !shape.list && !shape.dict && shape.named == 0;
        let base = if is_plain
            && given == code.params
            && !code.has_varargs
            && !code.has_kwargs
            && code.keyword_only == 0
        {
            self.stack.len() - given
        } else {
            let (positional, named) = self.spread(ctx, shape)?;
            let named = self.stack.split_off(self.stack.len().saturating_sub(named));
            let positional = self
                .stack
                .split_off(self.stack.len().saturating_sub(positional));
            let mut pairs = Vec::with_capacity(named.len() / 2);
            let mut named = named.into_iter();
            while let (Some(key), Some(value)) = (named.next(), named.next()) {
                pairs.push((key, value));
            }
            let base = self.stack.len();
            let slots = bind(ctx.usage, function, positional, pairs).map_err(|mut failure| {
                failure.add_frame(at_entry(code));
                failure
            })?;
            self.stack.extend(slots);
            base
        };
        ctx.allocate((code.locals.len() + 4) * size_of::<Value>())?;
        self.stack.resize(base + code.locals.len(), Value::UNSET);
        for (slot, _) in code
            .locals
            .iter()
            .enumerate()
            .filter(|(_, local)| local.is_cell)
        {
            if let Some(value) = self.stack.get_mut(base + slot) {
                let old = std::mem::replace(value, Value::UNSET);
                *value = Value(Repr::Cell(ctx.heap.new_cell(old)));
            }
        }
        ctx.calls += 1;
        if !ctx.linked.code.recursion {
            ctx.active.push(Rc::clone(code));
        }
        self.calls.push(ActiveCall {
            function: Rc::clone(function),
            next: 0,
            base,
            iterations: self.iterations.len(),
        });
        Ok(())
    }
}

fn check_depth(ctx: &Context<'_>, code: &Rc<Code>) -> ExecResult {
    let message = if ctx.linked.code.recursion {
        (ctx.calls >= MAX_CALLS).then(|| "Starlark stack overflow".to_owned())
    } else {
        let is_active = ctx.active.iter().any(|active| Rc::ptr_eq(active, code));
        is_active.then(|| format!("function {} called recursively", code.name))
    };
    let Some(message) = message else {
        return Ok(());
    };
    let mut failure = Failure::new(message);
    failure.add_frame(at_entry(code));
    Err(failure)
}

/// The frame of a call that failed while its arguments were bound.
fn at_entry(code: &Code) -> Frame {
    let position = code.positions.first().copied().unwrap_or(code.position);
    Frame {
        function: Rc::clone(&code.name),
        position: Some(position),
    }
}

pub(super) fn call_native(
    ctx: &mut Context<'_>,
    function: NativeFn,
    arguments: &Arguments<'_>,
) -> Result<Value, Failure> {
    let result = charge_texts(ctx, arguments).and_then(|()| function(ctx, arguments));
    result.map_err(|mut failure| {
        failure.add_frame(Frame {
            function: Rc::from(arguments.name),
            position: None,
        });
        failure
    })
}

/// Charges the time of a function for the texts of its arguments. It charges the content of containers and its own
/// output itself.
fn charge_texts(ctx: &Context<'_>, arguments: &Arguments<'_>) -> ExecResult {
    let length = |value: &Value| match &value.0 {
        Repr::String(bytes) | Repr::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let given = arguments.positional.iter().chain(arguments.named);
    let given = given.fold(0usize, |sum, value| sum.saturating_add(length(value)));
    ctx.usage
        .charge_bytes(given.saturating_add(length(arguments.receiver)))
}
