//! Unary and binary operators.

use std::rc::Rc;

use num_bigint::BigInt;

use super::context::Context;
use super::interpolate::interpolate;
use crate::builder::STRING_BYTES;
use crate::error::{Failure, fail};
use crate::limits::MAX_INT_BITS;
use crate::syntax::Operator;
use crate::usage::Usage;
use crate::value::int;
use crate::value::{
    Dict, Iter, Repr, Set, Struct, Value, as_byte, as_i32, equal, new_int, number_to_int,
};

type OperatorResult = Result<Value, Failure>;

pub(super) fn negate(usage: &Usage<'_>, value: &Value) -> OperatorResult {
    match &value.0 {
        Repr::Int(int) => match int.checked_neg() {
            Some(negated) => Ok(Value::from(negated)),
            None => Ok(Value::from(-BigInt::from(*int))),
        },
        Repr::Big(big) => new_int(usage, -&**big),
        Repr::Float(float) => Ok(Value::from(-float)),
        _ => fail(format!("unknown unary op: - {}", value.type_name())),
    }
}

pub(super) fn plus(value: &Value) -> OperatorResult {
    match &value.0 {
        Repr::Int(_) | Repr::Big(_) | Repr::Float(_) => Ok(value.clone()),
        _ => fail(format!("unknown unary op: + {}", value.type_name())),
    }
}

pub(super) fn invert(usage: &Usage<'_>, value: &Value) -> OperatorResult {
    match &value.0 {
        Repr::Int(int) => Ok(Value::from(!int)),
        Repr::Big(big) => new_int(usage, !(**big).clone()),
        _ => fail(format!("unknown unary op: ~ {}", value.type_name())),
    }
}

pub(super) fn binary(ctx: &Context<'_>, op: Operator, x: &Value, y: &Value) -> OperatorResult {
    let usage = ctx.usage;
    let known = match op {
        Operator::Add => add(ctx, x, y)?,
        Operator::Subtract => subtract(usage, x, y)?,
        Operator::Multiply => multiply(ctx, x, y)?,
        Operator::Divide => divide(usage, x, y)?,
        Operator::FloorDivide => floor_divide(usage, x, y)?,
        Operator::Modulo => modulo(ctx, x, y)?,
        Operator::In => contains(ctx, x, y)?,
        Operator::And | Operator::Or | Operator::Xor => bitwise(usage, op, x, y)?,
        Operator::ShiftLeft | Operator::ShiftRight => shift(usage, op, x, y)?,
    };
    if let Some(value) = known {
        return Ok(value);
    }
    let objects = [(x, y, true), (y, x, false)];
    for (this, other, on_the_left) in objects {
        if let Repr::Object(object) = &this.0
            && let Some(result) = object.binary(op, other, on_the_left)
        {
            return result.map_err(Failure::new);
        }
    }
    let (x, op, y) = (x.type_name(), op.symbol(), y.type_name());
    fail(format!("unknown binary op: {x} {op} {y}"))
}

/// Both operands as floats, if at least one is and the other is a number.
fn floats(usage: &Usage<'_>, x: &Value, y: &Value) -> Result<Option<(f64, f64)>, Failure> {
    match (&x.0, &y.0) {
        (Repr::Float(_), Repr::Float(_) | Repr::Int(_) | Repr::Big(_))
        | (Repr::Int(_) | Repr::Big(_), Repr::Float(_)) => {
            Ok(Some((to_float(usage, x)?, to_float(usage, y)?)))
        }
        _ => Ok(None),
    }
}

/// A number as a float; an integer must not exceed the range of floats.
pub(crate) fn to_float(usage: &Usage<'_>, value: &Value) -> Result<f64, Failure> {
    let float = match &value.0 {
        Repr::Float(float) => return Ok(*float),
        Repr::Int(int) => *int as f64,
        Repr::Big(big) => {
            int::charge_bits(usage, big.bits())?;
            big.to_string().parse::<f64>().unwrap_or(f64::INFINITY)
        }
        _ => 0.0,
    };
    if float.is_infinite() {
        return fail("int too large to convert to float");
    }
    Ok(float)
}

fn both_ints(x: &Value, y: &Value) -> bool {
    matches!(x.0, Repr::Int(_) | Repr::Big(_)) && matches!(y.0, Repr::Int(_) | Repr::Big(_))
}

fn add(ctx: &Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let usage = ctx.usage;
    Ok(Some(match (&x.0, &y.0) {
        (Repr::Int(a), Repr::Int(b)) => match a.checked_add(*b) {
            Some(sum) => Value::from(sum),
            None => Value::from(BigInt::from(*a) + b),
        },
        (Repr::String(a), Repr::String(b)) => {
            let length = a.len().saturating_add(b.len());
            ctx.allocate(length.saturating_mul(2).saturating_add(STRING_BYTES))?;
            let mut sum = Vec::with_capacity(length);
            sum.extend_from_slice(a);
            sum.extend_from_slice(b);
            Value::string(sum)
        }
        (Repr::List(a), Repr::List(b)) => {
            ctx.allocate_values(a.len() + b.len() + 2)?;
            let mut sum = Vec::with_capacity(a.len() + b.len());
            sum.extend_from_slice(&a.elements());
            sum.extend(b.elements().iter().cloned());
            Value::list(sum)
        }
        (Repr::Tuple(a), Repr::Tuple(b)) => {
            ctx.allocate_values(a.0.len() + b.0.len() + 2)?;
            Value::tuple(a.0.iter().chain(&b.0).cloned().collect())
        }
        (Repr::Struct(a), Repr::Struct(b)) => {
            for (name, _) in a.fields().chain(b.fields()) {
                ctx.allocate(2 * size_of::<(String, Value)>() + name.len())?;
            }
            let mut fields: Vec<(String, Value)> = Vec::new();
            let own = a.fields().filter(|(name, _)| b.field(name).is_none());
            fields.extend(
                own.chain(b.fields())
                    .map(|(name, value)| (name.to_owned(), value.clone())),
            );
            Value::from(Struct::new(fields))
        }
        _ if both_ints(x, y) => {
            let sum = int::big(x).as_ref() + int::big(y).as_ref();
            check_bits(sum.bits())?;
            new_int(usage, sum)?
        }
        _ => return Ok(floats(usage, x, y)?.map(|(x, y)| Value::from(x + y))),
    }))
}

fn subtract(usage: &Usage<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    Ok(Some(match (&x.0, &y.0) {
        (Repr::Int(a), Repr::Int(b)) => match a.checked_sub(*b) {
            Some(difference) => Value::from(difference),
            None => Value::from(BigInt::from(*a) - b),
        },
        (Repr::Set(a), Repr::Set(b)) => {
            let difference = a.copy(usage)?;
            for (element, _) in b.0.table().iter() {
                difference.remove(usage, element)?;
            }
            Value::from(difference)
        }
        _ if both_ints(x, y) => {
            let difference = int::big(x).as_ref() - int::big(y).as_ref();
            check_bits(difference.bits())?;
            new_int(usage, difference)?
        }
        _ => return Ok(floats(usage, x, y)?.map(|(x, y)| Value::from(x - y))),
    }))
}

/// Rejects integers that are too large.
fn check_bits(bits: u64) -> Result<(), Failure> {
    match bits > MAX_INT_BITS {
        true => fail(format!(
            "int too large: {bits} bits, limit is {MAX_INT_BITS}"
        )),
        false => Ok(()),
    }
}

fn multiply(ctx: &Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let usage = ctx.usage;
    if both_ints(x, y) {
        if let (Repr::Int(a), Repr::Int(b)) = (&x.0, &y.0)
            && let Some(product) = a.checked_mul(*b)
        {
            return Ok(Some(Value::from(product)));
        }
        let (x, y) = (int::big(x), int::big(y));
        let bits = x.bits() + y.bits();
        check_bits(bits)?;
        int::charge_bits(usage, bits)?;
        return new_int(usage, x.as_ref() * y.as_ref()).map(Some);
    }
    if let Some((x, y)) = floats(usage, x, y)? {
        return Ok(Some(Value::from(x * y)));
    }
    let (sequence, count) = match (&x.0, &y.0) {
        (Repr::Int(_) | Repr::Big(_), _) => (y, x),
        (_, Repr::Int(_) | Repr::Big(_)) => (x, y),
        _ => return Ok(None),
    };
    Ok(Some(match &sequence.0 {
        Repr::String(bytes) => {
            let count = repetitions(ctx, bytes.len(), count, 2)?;
            Value::string(bytes.repeat(count))
        }
        Repr::Bytes(bytes) => {
            let count = repetitions(ctx, bytes.len(), count, 2)?;
            Value::bytes(bytes.repeat(count))
        }
        Repr::List(list) => {
            let count = repetitions(ctx, list.len(), count, size_of::<Value>())?;
            Value::list(repeat(&list.elements(), count))
        }
        Repr::Tuple(tuple) => {
            let count = repetitions(ctx, tuple.0.len(), count, size_of::<Value>())?;
            Value::tuple(repeat(&tuple.0, count))
        }
        _ => return Ok(None),
    }))
}

fn repeat(elements: &[Value], count: usize) -> Vec<Value> {
    let mut out = Vec::with_capacity(elements.len() * count);
    for _ in 0..count {
        out.extend_from_slice(elements);
    }
    out
}

/// How often a sequence is repeated; rejects results that are too large.
fn repetitions(
    ctx: &Context<'_>,
    length: usize,
    count: &Value,
    size: usize,
) -> Result<usize, Failure> {
    if length == 0 {
        return Ok(0);
    }
    let Ok(times) = as_i32(count) else {
        return fail(format!("repeat count {} too large", int::big(count)));
    };
    let Ok(times) = usize::try_from(times) else {
        return Ok(0);
    };
    let total = length.checked_mul(times).filter(|total| *total < 1 << 30);
    let Some(total) = total else {
        return fail(format!("excessive repeat ({length} * {times} elements)"));
    };
    ctx.allocate(total.saturating_mul(size).saturating_add(STRING_BYTES))?;
    Ok(times)
}

fn divide(usage: &Usage<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let is_number = |value: &Value| matches!(value.0, Repr::Int(_) | Repr::Big(_) | Repr::Float(_));
    if !is_number(x) {
        return Ok(None);
    }
    // An integer on the left is converted before the type of the right is checked.
    let dividend = to_float(usage, x)?;
    if !is_number(y) {
        return Ok(None);
    }
    let divisor = to_float(usage, y)?;
    if divisor == 0.0 {
        return fail("floating-point division by zero");
    }
    Ok(Some(Value::from(dividend / divisor)))
}

fn floor_divide(usage: &Usage<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    if both_ints(x, y) {
        if !y.truth() && matches!(y.0, Repr::Int(_)) {
            return fail("floored division by zero");
        }
        return Ok(Some(divide_ints(usage, x, y)?.0));
    }
    let Some((x, y)) = floats(usage, x, y)? else {
        return Ok(None);
    };
    if y == 0.0 {
        return fail("floored division by zero");
    }
    Ok(Some(Value::from((x / y).floor())))
}

fn modulo(ctx: &Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let usage = ctx.usage;
    if let Repr::String(format) = &x.0 {
        return interpolate(ctx, format, y).map(Some);
    }
    if both_ints(x, y) {
        if !y.truth() && matches!(y.0, Repr::Int(_)) {
            return fail("integer modulo by zero");
        }
        return Ok(Some(divide_ints(usage, x, y)?.1));
    }
    let Some((x, y)) = floats(usage, x, y)? else {
        return Ok(None);
    };
    if y == 0.0 {
        return fail("floating-point modulo by zero");
    }
    let rest = x % y;
    let rest = if (x < 0.0) != (y < 0.0) && rest != 0.0 {
        rest + y
    } else {
        rest
    };
    Ok(Some(Value::from(rest)))
}

/// Floored quotient and remainder. The divisor is not zero.
fn divide_ints(usage: &Usage<'_>, x: &Value, y: &Value) -> Result<(Value, Value), Failure> {
    if let (Repr::Int(a), Repr::Int(b)) = (&x.0, &y.0)
        && let (Some(quotient), Some(rest)) = (a.checked_div(*b), a.checked_rem(*b))
    {
        return Ok(if rest != 0 && (*a < 0) != (*b < 0) {
            (Value::from(quotient - 1), Value::from(rest + b))
        } else {
            (Value::from(quotient), Value::from(rest))
        });
    }
    let (a, b) = (int::big(x), int::big(y));
    if *b == BigInt::ZERO {
        return Ok((Value::from(0), Value::from(0)));
    }
    int::charge_bits(usage, a.bits().max(b.bits()))?;
    let (quotient, rest) = (a.as_ref() / b.as_ref(), a.as_ref() % b.as_ref());
    let (quotient, rest) = if rest != BigInt::ZERO && (*a < BigInt::ZERO) != (*b < BigInt::ZERO) {
        (quotient - 1, rest + b.as_ref())
    } else {
        (quotient, rest)
    };
    Ok((new_int(usage, quotient)?, new_int(usage, rest)?))
}

fn contains(ctx: &Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let usage = ctx.usage;
    if let Repr::String(text) | Repr::Bytes(text) = &y.0 {
        usage.charge_bytes(text.len())?;
    }
    let found = match &y.0 {
        Repr::Dict(dict) => dict.get(usage, x).ok().flatten().is_some(),
        Repr::List(list) => contains_equal(usage, &list.elements(), x)?,
        Repr::Tuple(tuple) => contains_equal(usage, &tuple.0, x)?,
        Repr::Set(set) => set.contains(usage, x)?,
        Repr::String(text) => match &x.0 {
            Repr::String(part) => memchr::memmem::find(text, part).is_some(),
            _ => {
                let type_name = x.type_name();
                let message = "'in <string>' requires string as left operand, not";
                return fail(format!("{message} {type_name}"));
            }
        },
        Repr::Bytes(bytes) => match &x.0 {
            Repr::Bytes(part) => memchr::memmem::find(bytes, part).is_some(),
            Repr::Int(_) | Repr::Big(_) => {
                let byte = as_byte(x).map_err(|failure| failure.within("int in bytes"))?;
                memchr::memchr(byte, bytes).is_some()
            }
            _ => {
                let type_name = x.type_name();
                let message = "'in bytes' requires bytes or int as left operand, not";
                return fail(format!("{message} {type_name}"));
            }
        },
        Repr::Range(range) => match number_to_int(x) {
            Ok(int) => range.contains(&int),
            Err(_) => {
                let type_name = x.type_name();
                let message = "'in <range>' requires integer as left operand, not";
                return fail(format!("{message} {type_name}"));
            }
        },
        Repr::Object(object) => match object.lookup(x) {
            Some(value) => value.is_ok_and(|value| value.is_some()),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(Value::from(found)))
}

fn contains_equal(usage: &Usage<'_>, elements: &[Value], wanted: &Value) -> Result<bool, Failure> {
    for element in elements {
        if equal(usage, element, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn bitwise(
    usage: &Usage<'_>,
    op: Operator,
    x: &Value,
    y: &Value,
) -> Result<Option<Value>, Failure> {
    Ok(Some(match (&x.0, &y.0) {
        (Repr::Int(a), Repr::Int(b)) => Value::from(match op {
            Operator::And => a & b,
            Operator::Or => a | b,
            _ => a ^ b,
        }),
        (Repr::Dict(a), Repr::Dict(b)) if op == Operator::Or => {
            let union = Dict::default();
            for (key, value) in a.table().iter().chain(b.table().iter()) {
                union.insert(usage, key.clone(), value.clone())?;
            }
            Value::from(union)
        }
        (Repr::Set(a), Repr::Set(b)) => Value::from(combine_sets(usage, op, a, b)?),
        _ if both_ints(x, y) => {
            let (x, y) = (int::big(x), int::big(y));
            let combined = match op {
                Operator::And => x.as_ref() & y.as_ref(),
                Operator::Or => x.as_ref() | y.as_ref(),
                _ => x.as_ref() ^ y.as_ref(),
            };
            new_int(usage, combined)?
        }
        _ => return Ok(None),
    }))
}

fn combine_sets(usage: &Usage<'_>, op: Operator, x: &Set, y: &Rc<Set>) -> Result<Set, Failure> {
    let other = Value(Repr::Set(Rc::clone(y)));
    let other = Iter::new(&other).into_iter().flatten();
    match op {
        Operator::And => intersection(usage, x, other),
        Operator::Or => union(usage, x, other),
        _ => symmetric_difference(usage, x, other),
    }
}

fn union(usage: &Usage<'_>, x: &Set, other: impl Iterator<Item = Value>) -> Result<Set, Failure> {
    let union = x.copy(usage)?;
    for element in other {
        union.insert(usage, element)?;
    }
    Ok(union)
}

pub(crate) fn intersection(
    usage: &Usage<'_>,
    x: &Set,
    other: impl Iterator<Item = Value>,
) -> Result<Set, Failure> {
    let intersection = Set::default();
    for element in other {
        if x.contains(usage, &element)? {
            intersection.insert(usage, element)?;
        }
    }
    Ok(intersection)
}

pub(crate) fn symmetric_difference(
    usage: &Usage<'_>,
    x: &Set,
    other: impl Iterator<Item = Value>,
) -> Result<Set, Failure> {
    let difference = x.copy(usage)?;
    for element in other {
        if !difference.remove(usage, &element)? {
            difference.insert(usage, element)?;
        }
    }
    Ok(difference)
}

fn shift(usage: &Usage<'_>, op: Operator, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    if !matches!(x.0, Repr::Int(_) | Repr::Big(_)) {
        return Ok(None);
    }
    let count = as_i32(y)?;
    let Ok(bits) = u32::try_from(count) else {
        return fail(format!("negative shift count: {count}"));
    };
    if op == Operator::ShiftLeft {
        if bits >= 512 {
            return fail(format!("shift count too large: {bits}"));
        }
        let shifted = int::big(x).as_ref() << bits;
        check_bits(shifted.bits())?;
        return new_int(usage, shifted).map(Some);
    }
    new_int(usage, int::big(x).as_ref() >> bits).map(Some)
}
