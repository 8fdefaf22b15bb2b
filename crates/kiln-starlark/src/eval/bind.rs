//! Binds arguments to the parameters of a function of the program.

use kiln_go::quote;

use crate::error::{Failure, fail};
use crate::usage::Usage;
use crate::value::{Dict, ProgramFunction, Repr, Value};

/// The values of all parameters, in the order of the function's slots.
pub(super) fn bind(
    usage: &Usage<'_>,
    function: &ProgramFunction,
    positional: Vec<Value>,
    named: Vec<(Value, Value)>,
) -> Result<Vec<Value>, Failure> {
    let code = &function.code;
    let name = &code.name;
    if code.params == 0 {
        let given = positional.len() + named.len();
        if given > 0 {
            return fail(format!(
                "function {name} accepts no arguments ({given} given)"
            ));
        }
        return Ok(Vec::new());
    }
    let ordinary = code.params - usize::from(code.has_varargs) - usize::from(code.has_kwargs);
    let by_position = ordinary - code.keyword_only;
    let given = positional.len();
    if given > by_position && !code.has_varargs {
        let at_most = if function.defaults.len() > code.keyword_only {
            "at most "
        } else {
            ""
        };
        let plural = if by_position == 1 { "" } else { "s" };
        let accepts = format!("{at_most}{by_position} positional argument{plural}");
        return fail(format!("function {name} accepts {accepts} ({given} given)"));
    }
    let mut slots = positional;
    let surplus = slots.split_off(given.min(by_position));
    let bound = slots.len();
    slots.resize(ordinary, Value::UNSET);
    let extra = bind_named(usage, function, ordinary, &mut slots, named)?;
    if bound < ordinary || code.keyword_only > 0 {
        fill_defaults(function, ordinary, bound, &mut slots)?;
    }
    if code.has_varargs {
        slots.push(Value::tuple(surplus));
    }
    if let Some(extra) = extra {
        slots.push(Value::from(extra));
    }
    Ok(slots)
}

/// Binds named arguments; those without a parameter go to the dict of `**kwargs`.
fn bind_named(
    usage: &Usage<'_>,
    function: &ProgramFunction,
    ordinary: usize,
    slots: &mut [Value],
    named: Vec<(Value, Value)>,
) -> Result<Option<Dict>, Failure> {
    let code = &function.code;
    let name = &code.name;
    let extra = code.has_kwargs.then(Dict::default);
    for (key, value) in named {
        let text = key.as_str_bytes().unwrap_or_default();
        let params = code.locals.iter().take(ordinary);
        let twice = || {
            let key = quote(&String::from_utf8_lossy(text));
            format!("function {name} got multiple values for parameter {key}")
        };
        usage.charge(ordinary / 8)?;
        let place = params
            .map(|param| param.name.as_bytes())
            .position(|param| param == text);
        if let Some(slot) = place.and_then(|place| slots.get_mut(place)) {
            if !slot.is_unset() {
                return fail(twice());
            }
            *slot = value;
            continue;
        }
        let Some(extra) = &extra else {
            let key = quote(&String::from_utf8_lossy(text));
            return fail(format!(
                "function {name} got an unexpected keyword argument {key}"
            ));
        };
        if !extra.insert(usage, key.clone(), value)? {
            return fail(twice());
        }
    }
    Ok(extra)
}

fn fill_defaults(
    function: &ProgramFunction,
    ordinary: usize,
    bound: usize,
    slots: &mut [Value],
) -> Result<(), Failure> {
    let code = &function.code;
    let first_default = ordinary - function.defaults.len();
    let mut missing = Vec::new();
    for (place, slot) in slots.iter_mut().enumerate().skip(bound) {
        if !slot.is_unset() {
            continue;
        }
        let default = place
            .checked_sub(first_default)
            .and_then(|i| function.defaults.get(i));
        match default {
            Some(Value(Repr::Mandatory)) | None => {
                missing.extend(code.locals.get(place).map(|param| &*param.name));
            }
            Some(default) => *slot = default.clone(),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let plural = if missing.len() > 1 { "s" } else { "" };
    let (name, count, names) = (&code.name, missing.len(), missing.join(", "));
    fail(format!(
        "function {name} missing {count} argument{plural} ({names})"
    ))
}
