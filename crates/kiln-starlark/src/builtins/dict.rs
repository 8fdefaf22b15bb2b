//! Methods of dicts.

use std::rc::Rc;

use super::{Method, methods};
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::usage::Usage;
use crate::value::{Dict, Iter, Repr, Set, Value};

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

/// The bytes of a list element that is a pair.
pub(super) const PAIR_BYTES: usize = 4 * size_of::<Value>() + 64;

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

fn get(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let found = match (&args.receiver.0, args.get(0)) {
        (Repr::Dict(dict), Some(key)) => args.naming(dict.get(ctx.usage, key))?,
        _ => None,
    };
    Ok(found.unwrap_or_else(|| args.value(1)))
}

fn items(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    ctx.allocate(dict.len().saturating_mul(PAIR_BYTES) + 64)?;
    ctx.charge(dict.len())?;
    let table = dict.table();
    let pairs = table
        .iter()
        .map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()]));
    Ok(Value::list(pairs.collect()))
}

fn keys(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    ctx.allocate_exactly(dict.len())?;
    let keys = dict.table().iter().map(|(key, _)| key.clone()).collect();
    Ok(Value::list(keys))
}

fn values(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    ctx.allocate_exactly(dict.len())?;
    let values = dict
        .table()
        .iter()
        .map(|(_, value)| value.clone())
        .collect();
    Ok(Value::list(values))
}

fn pop(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let removed = this(args).remove(ctx.usage, &args.value(0));
    match (args.naming(removed)?, args.get(1)) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => args.fail("missing key"),
    }
}

fn popitem(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let dict = this(args);
    let Some(key) = dict.first_key() else {
        return args.fail("empty dict");
    };
    ctx.allocate(PAIR_BYTES)?;
    let value = args.naming(dict.remove(ctx.usage, &key))?;
    Ok(Value::tuple(vec![key, value.unwrap_or(Value::NONE)]))
}

fn setdefault(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let dict = this(args);
    let key = args.value(0);
    if let Some(value) = args.naming(dict.get(ctx.usage, &key))? {
        return Ok(value);
    }
    let default = args.value(1);
    ctx.track_dict(&dict, &key, &default);
    args.naming(dict.insert(ctx.usage, key, default.clone()))?;
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
    let usage = ctx.usage;
    let mut add = |key: Value, value: Value| -> Result<bool, Failure> {
        ctx.charge(1)?;
        ctx.track_dict(dict, &key, &value);
        dict.insert(ctx.usage, key, value)
    };
    let mut run = || -> Result<(), Failure> {
        if let Some(updates) = args.get(0) {
            for_each_pair(usage, updates, &mut add)?;
        }
        let before = dict.len();
        for (key, value) in args.named() {
            add(key.clone(), value.clone())?;
        }
        if dict.len() < before + args.named().count() {
            let seen = Set::default();
            for (key, _) in args.named() {
                if !seen.insert(usage, key.clone())? {
                    return fail(format!("duplicate keyword arg: {}", key.shown(usage)?));
                }
            }
        }
        Ok(())
    };
    args.naming(run())
}

fn for_each_pair(
    usage: &Usage<'_>,
    updates: &Value,
    add: &mut dyn FnMut(Value, Value) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    if let Repr::Dict(other) = &updates.0 {
        // A dict may be added to itself.
        usage.allocate(other.len().saturating_mul(2 * size_of::<Value>()))?;
        for (key, value) in other.items() {
            add(key, value)?;
        }
        return Ok(());
    }
    let Some(iter) = Iter::new(updates) else {
        return fail(format!("got {}, want iterable", updates.type_name()));
    };
    for (i, pair) in iter.enumerate() {
        usage.charge(1)?;
        let type_name = pair.type_name();
        let element = || format!("dictionary update sequence element #{i}");
        let Some(mut parts) = Iter::new(&pair) else {
            return fail(format!("{} is not iterable ({type_name})", element()));
        };
        match pair.length() {
            None => {
                let element = element();
                return fail(format!("{element} has unknown length ({type_name})"));
            }
            Some(2) => {}
            Some(length) => {
                return fail(format!("{} has length {length}, want 2", element()));
            }
        }
        if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            add(key, value)?;
        }
    }
    Ok(())
}
