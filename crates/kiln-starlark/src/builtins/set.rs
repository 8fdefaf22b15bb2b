//! Methods of sets.

use std::rc::Rc;

use super::{Method, methods};
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want, collect, intersection, symmetric_difference};
use crate::value::{Iter, Repr, Set, Value};

pub(super) const METHODS: &[Method] = methods! {
    add: add,
    clear: clear,
    difference: difference,
    discard: discard,
    intersection: intersection_method,
    issubset: issubset,
    issuperset: issuperset,
    pop: pop,
    remove: remove,
    symmetric_difference: symmetric_difference_method,
    union: union,
    update: update,
};

fn this(args: &Arguments<'_>) -> Rc<Set> {
    match &args.receiver.0 {
        Repr::Set(set) => Rc::clone(set),
        _ => Rc::default(),
    }
}

/// The elements of the other operand.
fn other(
    ctx: &mut Context<'_>,
    args: &Arguments<'_>,
) -> Result<std::vec::IntoIter<Value>, Failure> {
    args.check(&[Want::Iterable], 0)?;
    match args.get(0).and_then(Iter::new) {
        Some(iter) => Ok(collect(ctx, iter)?.into_iter()),
        // The original crashes here.
        None => args.fail("got 0 arguments, want 1"),
    }
}

fn add(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let set = this(args);
    ctx.track_set(&set, &args.value(0));
    args.naming(set.insert(ctx.usage, args.value(0)))?;
    Ok(Value::NONE)
}

fn clear(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let set = this(args);
    if !set.is_empty() {
        args.naming(set.0.clear())?;
    }
    Ok(Value::NONE)
}

fn difference(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let other = other(ctx, args)?;
    let run = || -> Result<Set, Failure> {
        let difference = this(args).copy(ctx.usage)?;
        for element in other {
            difference.remove(ctx.usage, &element)?;
        }
        Ok(difference)
    };
    args.naming(run().map(Value::from))
}

fn discard(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let set = this(args);
    let check = set.0.check_mutable("delete from");
    let removed = check.and_then(|()| {
        let element = args.value(0);
        if set.contains(ctx.usage, &element)? {
            set.remove(ctx.usage, &element)
        } else {
            Ok(false)
        }
    });
    args.naming(removed)?;
    Ok(Value::NONE)
}

fn intersection_method(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let other = other(ctx, args)?;
    let result = intersection(ctx.usage, &this(args), other);
    args.naming(result.map(Value::from))
}

fn symmetric_difference_method(
    ctx: &mut Context<'_>,
    args: &Arguments<'_>,
) -> Result<Value, Failure> {
    let other = other(ctx, args)?;
    let result = symmetric_difference(ctx.usage, &this(args), other);
    args.naming(result.map(Value::from))
}

fn issubset(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let other = other(ctx, args)?;
    let set = this(args);
    let run = || -> Result<bool, Failure> {
        let common = intersection(ctx.usage, &set, other)?;
        Ok(common.len() == set.len())
    };
    args.naming(run().map(Value::from))
}

fn issuperset(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let other = other(ctx, args)?;
    let set = this(args);
    for element in other {
        if !args.naming(set.contains(ctx.usage, &element))? {
            return Ok(Value::from(false));
        }
    }
    Ok(Value::from(true))
}

fn pop(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let set = this(args);
    let Some(element) = set.0.first_key() else {
        return args.fail("empty set");
    };
    args.naming(set.remove(ctx.usage, &element))?;
    Ok(element)
}

fn remove(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let removed = this(args).remove(ctx.usage, &args.value(0));
    match args.naming(removed)? {
        true => Ok(Value::NONE),
        false => args.fail("missing key"),
    }
}

fn union(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let union = Rc::new(this(args).copy(ctx.usage)?);
    args.naming(insert_all(ctx, &union, args))?;
    Ok(Value(Repr::Set(union)))
}

fn update(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.naming(insert_all(ctx, &this(args), args))?;
    Ok(Value::NONE)
}

fn insert_all(ctx: &mut Context<'_>, set: &Rc<Set>, args: &Arguments<'_>) -> Result<(), Failure> {
    if args.named().next().is_some() {
        return fail("does not accept keyword arguments");
    }
    for (i, value) in args.positional.iter().enumerate() {
        let Some(iter) = Iter::new(value) else {
            return fail(format!(
                "argument #{} is not iterable: {}",
                i + 1,
                value.type_name()
            ));
        };
        for element in iter {
            ctx.track_set(set, &element);
            set.insert(ctx.usage, element)?;
        }
    }
    Ok(())
}
