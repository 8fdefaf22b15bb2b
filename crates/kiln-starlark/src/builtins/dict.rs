//! Methods of dicts.

use std::rc::Rc;

use super::{Method, methods};
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::value::{Dict, Iter, Repr, Value};

pub(super) const METHODS: &[Method] = methods! {
    clear: clear,
    get: get,
    items: items,
    keys: keys,
    pop: pop,
    popitem: popitem,
    setdefault: setdefault,
    update: update_method,
    values: values,
};

fn this(args: &Arguments<'_>) -> Rc<Dict> {
    match &args.receiver.0 {
        Repr::Dict(dict) => Rc::clone(dict),
        _ => Rc::default(),
    }
}

fn clear(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    this(args).clear()?;
    Ok(Value::NONE)
}

fn get(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let found = match (&args.receiver.0, args.get(0)) {
        (Repr::Dict(dict), Some(key)) => dict
            .get(key)
            .map_err(|failure| args.named_failure(failure))?,
        _ => None,
    };
    Ok(found.unwrap_or_else(|| args.value(1)))
}

fn items(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let items = this(args).items();
    ctx.allocate_values(items.len() * 5)?;
    ctx.charge(items.len())?;
    let pairs = items
        .into_iter()
        .map(|(key, value)| Value::tuple(vec![key, value]));
    Ok(Value::list(pairs.collect()))
}

fn keys(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    ctx.allocate_values(dict.len())?;
    let keys = dict.table().iter().map(|(key, _)| key.clone()).collect();
    Ok(Value::list(keys))
}

fn values(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    ctx.allocate_values(dict.len())?;
    let values = dict
        .table()
        .iter()
        .map(|(_, value)| value.clone())
        .collect();
    Ok(Value::list(values))
}

fn pop(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let removed = this(args).remove(&args.value(0));
    match (
        removed.map_err(|failure| args.named_failure(failure))?,
        args.get(1),
    ) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => args.fail("missing key"),
    }
}

fn popitem(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    let Some(key) = dict.first_key() else {
        return args.fail("empty dict");
    };
    let value = dict
        .remove(&key)
        .map_err(|failure| args.named_failure(failure))?;
    Ok(Value::tuple(vec![key, value.unwrap_or(Value::NONE)]))
}

fn setdefault(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let dict = this(args);
    let key = args.value(0);
    if let Some(value) = dict
        .get(&key)
        .map_err(|failure| args.named_failure(failure))?
    {
        return Ok(value);
    }
    let default = args.value(1);
    ctx.allocate(64)?;
    ctx.track_dict(&dict, &default);
    dict.insert(key, default.clone())
        .map_err(|failure| args.named_failure(failure))?;
    Ok(default)
}

fn update_method(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let given = args.positional.len();
    if given > 1 {
        return args.fail(format!("got {given} arguments, want at most 1"));
    }
    update(ctx, &this(args), args)?;
    Ok(Value::NONE)
}

/// Adds the entries of the first argument, a mapping or a sequence of pairs, and the named arguments.
pub(super) fn update(
    ctx: &mut Context<'_>,
    dict: &Rc<Dict>,
    args: &Arguments<'_>,
) -> Result<(), Failure> {
    let mut add = |key: Value, value: Value| -> Result<bool, Failure> {
        ctx.allocate(64)?;
        ctx.track_dict(dict, &value);
        dict.insert(key, value)
    };
    let mut run = || -> Result<(), Failure> {
        if let Some(updates) = args.get(0) {
            for_each_pair(updates, &mut add)?;
        }
        let before = dict.len();
        for (key, value) in args.named() {
            add(key.clone(), value.clone())?;
        }
        if dict.len() < before + args.named().count() {
            let keys: Vec<_> = args.named().map(|(key, _)| key).collect();
            for (i, key) in keys.iter().enumerate() {
                let text = key.as_str_bytes();
                if keys
                    .iter()
                    .take(i)
                    .any(|other| other.as_str_bytes() == text)
                {
                    return fail(format!("duplicate keyword arg: {}", key.shown()));
                }
            }
        }
        Ok(())
    };
    run().map_err(|failure| args.named_failure(failure))
}

fn for_each_pair(
    updates: &Value,
    add: &mut dyn FnMut(Value, Value) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    if let Repr::Dict(other) = &updates.0 {
        for (key, value) in other.items() {
            add(key, value)?;
        }
        return Ok(());
    }
    let Some(iter) = Iter::new(updates) else {
        return fail(format!("got {}, want iterable", updates.type_name()));
    };
    for (i, pair) in iter.enumerate() {
        let type_name = pair.type_name();
        let element = format!("dictionary update sequence element #{i}");
        let Some(mut parts) = Iter::new(&pair) else {
            return fail(format!("{element} is not iterable ({type_name})"));
        };
        match pair.length() {
            None => return fail(format!("{element} has unknown length ({type_name})")),
            Some(2) => {}
            Some(length) => return fail(format!("{element} has length {length}, want 2")),
        }
        if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            add(key, value)?;
        }
    }
    Ok(())
}
