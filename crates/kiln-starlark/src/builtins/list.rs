//! Methods of lists.

use std::rc::Rc;

use super::convert::iterate;
use super::{Method, methods};
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want, collect, indices, out_of_range};
use crate::value::{List, Repr, Value, as_i64, equal};

pub(super) const METHODS: &[Method] = methods! {
    append: append,
    clear: clear,
    extend: extend,
    index: index,
    insert: insert,
    pop: pop,
    remove: remove,
};

fn this(args: &Arguments<'_>) -> Rc<List> {
    match &args.receiver.0 {
        Repr::List(list) => Rc::clone(list),
        _ => Rc::new(List::new(Vec::new())),
    }
}

fn append(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let list = this(args);
    args.naming(list.check_mutable("append to"))?;
    let value = args.value(0);
    ctx.allocate_values(1)?;
    ctx.track_list(&list, &value);
    list.change(|elements| elements.push(value));
    Ok(Value::NONE)
}

fn clear(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let list = this(args);
    args.naming(list.check_mutable("clear"))?;
    let old = list.change(std::mem::take);
    crate::value::drop_all(old);
    Ok(Value::NONE)
}

fn extend(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Iterable], 1)?;
    let list = this(args);
    args.naming(list.check_mutable("extend"))?;
    let other = args.value(0);
    let added = collect(ctx, iterate(&other)?)?;
    for element in &added {
        ctx.track_list(&list, element);
    }
    list.change(|elements| elements.extend(added));
    Ok(Value::NONE)
}

fn index(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 3)?;
    let list = this(args);
    let (start, end) = args.naming(indices(args.get(1), args.get(2), list.len()))?;
    let wanted = args.value(0);
    ctx.charge(list.len() / 8)?;
    for (place, element) in list.elements().iter().enumerate().take(end).skip(start) {
        if args.naming(equal(ctx.usage, element, &wanted))? {
            return Ok(Value::from(place));
        }
    }
    args.fail("value not in list")
}

fn insert(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Int64, Want::Any], 2)?;
    let list = this(args);
    args.naming(list.check_mutable("insert into"))?;
    let length = list.len();
    let place = place_from(as_i64(&args.value(0))?, length);
    let place = usize::try_from(place.max(0)).unwrap_or(length).min(length);
    let value = args.value(1);
    ctx.allocate_values(1)?;
    ctx.charge((length - place) / 8)?;
    ctx.track_list(&list, &value);
    list.change(|elements| elements.insert(place, value));
    Ok(Value::NONE)
}

/// A negative index counts from the end.
fn place_from(index: i64, length: usize) -> i64 {
    if index < 0 {
        index.saturating_add(i64::try_from(length).unwrap_or(i64::MAX))
    } else {
        index
    }
}

fn pop(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Int64], 0)?;
    let list = this(args);
    let length = list.len();
    let last = i64::try_from(length).unwrap_or(i64::MAX) - 1;
    let index = args.int(0)?.unwrap_or(last);
    let place = usize::try_from(place_from(index, length))
        .ok()
        .filter(|place| *place < length);
    let Some(place) = place else {
        let failed = out_of_range(index, length, args.receiver);
        return args.naming(failed);
    };
    args.naming(list.check_mutable("pop from"))?;
    ctx.charge((length - place) / 8)?;
    Ok(list.change(|elements| elements.remove(place)))
}

fn remove(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let list = this(args);
    args.naming(list.check_mutable("remove from"))?;
    let wanted = args.value(0);
    ctx.charge(list.len() / 8)?;
    let mut place = None;
    for (i, element) in list.elements().iter().enumerate() {
        if args.naming(equal(ctx.usage, element, &wanted))? {
            place = Some(i);
            break;
        }
    }
    let Some(place) = place else {
        return fail("remove: element not found");
    };
    let removed = list.change(|elements| elements.remove(place));
    drop(removed);
    Ok(Value::NONE)
}
