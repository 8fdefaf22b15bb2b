//! Longer instructions.

use std::rc::Rc;

use super::context::Context;
use super::machine::{ExecResult, Machine, collect};
use super::operators::binary;
use crate::compile::{Capture, Code};
use crate::error::fail;
use crate::spell;
use crate::syntax::Operator;
use crate::value::{Iter, ProgramFunction, Repr, Value};

impl Machine {
    pub(super) fn unpack(
        &mut self,
        ctx: &Context<'_>,
        sequence: &Value,
        count: usize,
    ) -> ExecResult {
        let Some(iter) = Iter::new(sequence) else {
            return fail(format!(
                "got {} in sequence assignment",
                sequence.type_name()
            ));
        };
        ctx.charge(count)?;
        let mut elements: Vec<Value> = iter.take(count.saturating_add(1)).collect();
        if elements.len() > count {
            let got = sequence
                .length()
                .map_or("-1".to_owned(), |length| length.to_string());
            return fail(format!(
                "too many values to unpack (got {got}, want {count})"
            ));
        }
        if elements.len() < count {
            let got = elements.len();
            return fail(format!(
                "too few values to unpack (got {got}, want {count})"
            ));
        }
        elements.reverse();
        self.stack.append(&mut elements);
        Ok(())
    }

    pub(super) fn add_in_place(&mut self, ctx: &mut Context<'_>) -> ExecResult {
        let (y, x) = (self.pop(), self.pop());
        if let Repr::List(list) = &x.0
            && let Some(iter) = Iter::new(&y)
        {
            // A list may be added to itself.
            let elements: Vec<Value> = match &y.0 {
                Repr::List(other) => {
                    drop(iter);
                    list.check_mutable("apply += to")?;
                    ctx.allocate_values(other.len())?;
                    other.to_vec()
                }
                _ => {
                    list.check_mutable("apply += to")?;
                    collect(ctx, iter)?
                }
            };
            for element in &elements {
                ctx.track_list(list, element);
            }
            list.change(|own| own.extend(elements));
            self.stack.push(x);
            return Ok(());
        }
        self.stack.push(binary(ctx, Operator::Add, &x, &y)?);
        Ok(())
    }

    pub(super) fn merge_in_place(&mut self, ctx: &mut Context<'_>) -> ExecResult {
        let (y, x) = (self.pop(), self.pop());
        if let (Repr::Dict(dict), Repr::Dict(other)) = (&x.0, &y.0) {
            dict.check_mutable("apply |= to")?;
            ctx.allocate_values(2 * other.len())?;
            for (key, value) in other.items() {
                ctx.track_dict(dict, &key, &value);
                dict.insert(ctx.usage, key, value)?;
            }
            self.stack.push(x);
            return Ok(());
        }
        self.stack.push(binary(ctx, Operator::Or, &x, &y)?);
        Ok(())
    }

    pub(super) fn make_function(
        &mut self,
        around: &ProgramFunction,
        base: usize,
        code: Rc<Code>,
        defaults: Vec<Value>,
    ) -> Value {
        let free = code.captures.iter().filter_map(|capture| match capture {
            Capture::Local(slot) => match self.stack.get(base + *slot) {
                Some(Value(Repr::Cell(cell))) => Some(Rc::clone(cell)),
                _ => None,
            },
            Capture::Free(slot) => around.free.get(*slot).cloned(),
        });
        let free = free.collect();
        Value(Repr::Function(Rc::new(ProgramFunction {
            code,
            defaults,
            free,
        })))
    }

    pub(super) fn load(&mut self, ctx: &mut Context<'_>, count: u32) -> ExecResult {
        let module = self.pop();
        let names = self.take(count);
        let module =
            String::from_utf8_lossy(module.as_str_bytes().unwrap_or_default()).into_owned();
        let mut members = match (ctx.host.load)(&module) {
            Ok(members) => members,
            Err(reason) => return fail(format!("cannot load {module}: {reason}")),
        };
        members.sort_by(|a, b| a.0.cmp(&b.0));
        for name in names {
            let name =
                String::from_utf8_lossy(name.as_str_bytes().unwrap_or_default()).into_owned();
            let found = members.iter().find(|(member, _)| *member == name);
            let Some((_, value)) = found else {
                let message = format!("load: name {name} not found in module {module}");
                let near = spell::nearest(&name, members.iter().map(|(member, _)| member.as_str()));
                return match near {
                    Some(near) => fail(format!("{message} (did you mean {near}?)")),
                    None => fail(message),
                };
            };
            ctx.charge(1)?;
            self.stack.push(value.clone());
        }
        Ok(())
    }
}
