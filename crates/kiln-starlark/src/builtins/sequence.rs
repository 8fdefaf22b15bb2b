//! Functions of sequences.

use std::rc::Rc;

use super::convert::iterate;
use super::dict::PAIR_BYTES;
use super::sort::stable_sort;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want, collect};
use crate::value::{Comparison, Iter, Range, Repr, Set, Value, as_i64, compare};

/// All elements of the first argument, which is optional.
fn elements(ctx: &Context<'_>, args: &Arguments<'_>, least: usize) -> Result<Vec<Value>, Failure> {
    args.check(&[Want::Iterable], least)?;
    match args.get(0).and_then(Iter::new) {
        Some(iter) => collect(ctx, iter),
        None => Ok(Vec::new()),
    }
}

pub(super) fn all(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Iterable], 1)?;
    for element in iterate(&args.value(0))? {
        ctx.charge(1)?;
        if !element.truth() {
            return Ok(Value::from(false));
        }
    }
    Ok(Value::from(true))
}

pub(super) fn any(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Iterable], 1)?;
    for element in iterate(&args.value(0))? {
        ctx.charge(1)?;
        if element.truth() {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}

pub(super) fn enumerate(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Iterable, Want::Int64], 1)?;
    let mut number = args.int(1)?.unwrap_or(0);
    let mut pairs = Vec::new();
    for element in iterate(&args.value(0))? {
        ctx.charge(1)?;
        ctx.allocate(PAIR_BYTES)?;
        pairs.push(Value::tuple(vec![Value::from(number), element]));
        number = number.wrapping_add(1);
    }
    Ok(Value::list(pairs))
}

pub(super) fn len(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let value = args.value(0);
    match value.length() {
        Some(length) => Ok(Value::from(length)),
        None => args.fail(format!("value of type {} has no len", value.type_name())),
    }
}

pub(super) fn list(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    Ok(Value::list(elements(ctx, args, 0)?))
}

pub(super) fn tuple(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    Ok(Value::tuple(elements(ctx, args, 0)?))
}

pub(super) fn set(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let set = Set::default();
    for element in elements(ctx, args, 0)? {
        args.naming(set.insert(ctx.usage, element))?;
    }
    Ok(Value::from(set))
}

pub(super) fn reversed(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let mut elements = elements(ctx, args, 1)?;
    elements.reverse();
    Ok(Value::list(elements))
}

/// `max` and `min`.
pub(super) fn extreme(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let name = args.name;
    let Some(first) = args.get(0) else {
        return fail(format!("{name} requires at least one positional argument"));
    };
    let [key] = args.unpack_named([("key?", Want::Callable)])?;
    let comparison = if name == "max" {
        Comparison::Greater
    } else {
        Comparison::Less
    };
    let values = if args.positional.len() == 1 {
        match Iter::new(first) {
            Some(iter) => collect(ctx, iter)?,
            None => return args.fail(format!("{} value is not iterable", first.type_name())),
        }
    } else {
        args.positional.to_vec()
    };
    let mut best: Option<(Value, Value)> = None;
    for value in values {
        ctx.charge(1)?;
        let rank = match &key {
            Some(key) => ctx.call(key, std::slice::from_ref(&value))?,
            None => value.clone(),
        };
        let better = match &best {
            Some((_, other)) => {
                let better = compare(ctx.usage, comparison, &rank, other);
                args.naming(better)?
            }
            None => true,
        };
        if better {
            best = Some((value, rank));
        }
    }
    match best {
        Some((value, _)) => Ok(value),
        None => args.fail("argument is an empty sequence"),
    }
}

pub(super) fn range(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Int64, Want::Int64, Want::Int64], 1)?;
    let first = as_i64(&args.value(0))?;
    let (start, stop) = match args.int(1)? {
        Some(stop) => (first, stop),
        None => (0, first),
    };
    let step = args.int(2)?.unwrap_or(1);
    if step == 0 {
        return args.fail("step argument must not be zero");
    }
    ctx.allocate(64)?;
    Ok(Value(Repr::Range(Rc::new(Range::new(start, stop, step)))))
}

pub(super) fn sorted(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let params = [
        ("iterable", Want::Iterable),
        ("key?", Want::Callable),
        ("reverse?", Want::Bool),
    ];
    let [iterable, key, reverse] = args.unpack(params)?;
    let values = collect(ctx, iterate(&iterable.unwrap_or(Value::NONE))?)?;
    let reverse = reverse.is_some_and(|reverse| reverse.truth());
    ctx.allocate_values(2 * values.len())?;
    let mut ranked = Vec::with_capacity(values.len());
    for value in values {
        let rank = match &key {
            Some(key) => ctx.call(key, std::slice::from_ref(&value))?,
            None => value.clone(),
        };
        ranked.push((rank, value));
    }
    let usage = ctx.usage;
    let mut failure = None;
    stable_sort(&mut ranked, &mut |(a, _), (b, _)| {
        if usage.is_stopped() {
            return false;
        }
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        match compare(usage, Comparison::Less, a, b) {
            Ok(less) => less,
            Err(reason) => {
                failure = Some(reason);
                false
            }
        }
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(Value::list(
            ranked.into_iter().map(|(_, value)| value).collect(),
        )),
    }
}

pub(super) fn zip(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    if args.named().next().is_some() {
        return fail("zip does not accept keyword arguments");
    }
    let mut columns = Vec::new();
    for (i, value) in args.positional.iter().enumerate() {
        let Some(iter) = Iter::new(value) else {
            let type_name = value.type_name();
            return args.fail(format!("argument #{} is not iterable: {type_name}", i + 1));
        };
        columns.push(iter);
    }
    let mut rows = Vec::new();
    let new_bytes = columns.iter().map(Iter::new_bytes).max().unwrap_or(0);
    while !columns.is_empty() {
        let row: Option<Vec<Value>> = columns.iter_mut().map(Iter::next).collect();
        let Some(row) = row else {
            break;
        };
        ctx.charge(columns.len())?;
        ctx.allocate(PAIR_BYTES + row.len().saturating_mul(size_of::<Value>() + new_bytes))?;
        rows.push(Value::tuple(row));
    }
    Ok(Value::list(rows))
}
