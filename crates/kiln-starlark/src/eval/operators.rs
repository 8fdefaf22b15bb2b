//! Unary and binary operators.

use std::rc::Rc;

use num_bigint::BigInt;

use super::context::Context;
use super::interpolate::interpolate;
use crate::error::{Failure, fail};
use crate::limits::MAX_INT_BITS;
use crate::syntax::Operator;
use crate::value::int;
use crate::value::{Dict, Iter, Repr, Set, Struct, Value, as_byte, as_i32, equal, number_to_int};

type Outcome = Result<Value, Failure>;

pub(super) fn negate(value: &Value) -> Outcome {
    match &value.0 {
        Repr::Int(int) => match int.checked_neg() {
            Some(negated) => Ok(Value::from(negated)),
            None => Ok(Value::from(-BigInt::from(*int))),
        },
        Repr::Big(big) => Ok(Value::from(-&**big)),
        Repr::Float(float) => Ok(Value::from(-float)),
        _ => fail(format!("unknown unary op: - {}", value.type_name())),
    }
}

pub(super) fn plus(value: &Value) -> Outcome {
    match &value.0 {
        Repr::Int(_) | Repr::Big(_) | Repr::Float(_) => Ok(value.clone()),
        _ => fail(format!("unknown unary op: + {}", value.type_name())),
    }
}

pub(super) fn invert(value: &Value) -> Outcome {
    match &value.0 {
        Repr::Int(int) => Ok(Value::from(!int)),
        Repr::Big(big) => Ok(Value::from(!(**big).clone())),
        _ => fail(format!("unknown unary op: ~ {}", value.type_name())),
    }
}

pub(super) fn binary(ctx: &mut Context<'_>, op: Operator, x: &Value, y: &Value) -> Outcome {
    let known = match op {
        Operator::Add => add(ctx, x, y)?,
        Operator::Subtract => subtract(x, y)?,
        Operator::Multiply => multiply(ctx, x, y)?,
        Operator::Divide => divide(x, y)?,
        Operator::FloorDivide => floor_divide(x, y)?,
        Operator::Modulo => modulo(ctx, x, y)?,
        Operator::In => contains(ctx, x, y)?,
        Operator::And | Operator::Or | Operator::Xor => bitwise(op, x, y)?,
        Operator::ShiftLeft | Operator::ShiftRight => shift(op, x, y)?,
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
fn floats(x: &Value, y: &Value) -> Result<Option<(f64, f64)>, Failure> {
    match (&x.0, &y.0) {
        (Repr::Float(_), Repr::Float(_) | Repr::Int(_) | Repr::Big(_))
        | (Repr::Int(_) | Repr::Big(_), Repr::Float(_)) => Ok(Some((to_float(x)?, to_float(y)?))),
        _ => Ok(None),
    }
}

/// A number as a float; an integer must not be beyond all of them.
pub(crate) fn to_float(value: &Value) -> Result<f64, Failure> {
    let float = match &value.0 {
        Repr::Float(float) => return Ok(*float),
        Repr::Int(int) => *int as f64,
        Repr::Big(big) => big.to_string().parse::<f64>().unwrap_or(f64::INFINITY),
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

fn add(ctx: &mut Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    Ok(Some(match (&x.0, &y.0) {
        (Repr::Int(a), Repr::Int(b)) => match a.checked_add(*b) {
            Some(sum) => Value::from(sum),
            None => Value::from(BigInt::from(*a) + b),
        },
        (Repr::String(a), Repr::String(b)) => {
            ctx.allocate(a.len() + b.len())?;
            let mut sum = Vec::with_capacity(a.len() + b.len());
            sum.extend_from_slice(a);
            sum.extend_from_slice(b);
            Value::string(sum)
        }
        (Repr::List(a), Repr::List(b)) => {
            ctx.allocate_values(a.len() + b.len())?;
            let mut sum = a.to_vec();
            sum.extend(b.elements().iter().cloned());
            Value::list(sum)
        }
        (Repr::Tuple(a), Repr::Tuple(b)) => {
            ctx.allocate_values(a.0.len() + b.0.len())?;
            Value::tuple(a.0.iter().chain(&b.0).cloned().collect())
        }
        (Repr::Struct(a), Repr::Struct(b)) => {
            let mut fields: Vec<(String, Value)> = Vec::new();
            let own = a.fields().filter(|(name, _)| b.field(name).is_none());
            fields.extend(
                own.chain(b.fields())
                    .map(|(name, value)| (name.to_owned(), value.clone())),
            );
            Value::from(Struct::new(fields))
        }
        _ if both_ints(x, y) => Value::from(int::big(x).as_ref() + int::big(y).as_ref()),
        _ => return Ok(floats(x, y)?.map(|(x, y)| Value::from(x + y))),
    }))
}

fn subtract(x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    Ok(Some(match (&x.0, &y.0) {
        (Repr::Int(a), Repr::Int(b)) => match a.checked_sub(*b) {
            Some(difference) => Value::from(difference),
            None => Value::from(BigInt::from(*a) - b),
        },
        (Repr::Set(a), Repr::Set(b)) => {
            let difference = a.copy()?;
            for element in b.elements() {
                difference.remove(&element)?;
            }
            Value::from(difference)
        }
        _ if both_ints(x, y) => Value::from(int::big(x).as_ref() - int::big(y).as_ref()),
        _ => return Ok(floats(x, y)?.map(|(x, y)| Value::from(x - y))),
    }))
}

fn multiply(ctx: &mut Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    if both_ints(x, y) {
        if let (Repr::Int(a), Repr::Int(b)) = (&x.0, &y.0)
            && let Some(product) = a.checked_mul(*b)
        {
            return Ok(Some(Value::from(product)));
        }
        let (x, y) = (int::big(x), int::big(y));
        let bits = x.bits() + y.bits();
        if bits > MAX_INT_BITS {
            return fail(format!(
                "int too large: {bits} bits, limit is {MAX_INT_BITS}"
            ));
        }
        ctx.charge(usize::try_from(bits * bits / 65536).unwrap_or(usize::MAX))?;
        return Ok(Some(Value::from(x.as_ref() * y.as_ref())));
    }
    if let Some((x, y)) = floats(x, y)? {
        return Ok(Some(Value::from(x * y)));
    }
    let (sequence, count) = match (&x.0, &y.0) {
        (Repr::Int(_) | Repr::Big(_), _) => (y, x),
        (_, Repr::Int(_) | Repr::Big(_)) => (x, y),
        _ => return Ok(None),
    };
    Ok(Some(match &sequence.0 {
        Repr::String(bytes) => {
            let count = repetitions(ctx, bytes.len(), count, 1)?;
            Value::string(bytes.repeat(count))
        }
        Repr::Bytes(bytes) => {
            let count = repetitions(ctx, bytes.len(), count, 1)?;
            Value::bytes(bytes.repeat(count))
        }
        Repr::List(list) => {
            let elements = list.to_vec();
            let count = repetitions(ctx, elements.len(), count, size_of::<Value>())?;
            Value::list(repeat(&elements, count))
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

/// How often a sequence is to be repeated; refuses what is too much.
fn repetitions(
    ctx: &mut Context<'_>,
    length: usize,
    count: &Value,
    size: usize,
) -> Result<usize, Failure> {
    if length == 0 {
        return Ok(0);
    }
    let Ok(times) = as_i32(count) else {
        return fail(format!("repeat count {} too large", count.shown()));
    };
    let Ok(times) = usize::try_from(times) else {
        return Ok(0);
    };
    let total = length.checked_mul(times).filter(|total| *total < 1 << 30);
    let Some(total) = total else {
        return fail(format!("excessive repeat ({length} * {times} elements)"));
    };
    ctx.allocate(total.saturating_mul(size))?;
    Ok(times)
}

fn divide(x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let is_number = |value: &Value| matches!(value.0, Repr::Int(_) | Repr::Big(_) | Repr::Float(_));
    if !is_number(x) {
        return Ok(None);
    }
    // An integer on the left is converted before anybody looks at the right.
    let dividend = to_float(x)?;
    if !is_number(y) {
        return Ok(None);
    }
    let divisor = to_float(y)?;
    if divisor == 0.0 {
        return fail("floating-point division by zero");
    }
    Ok(Some(Value::from(dividend / divisor)))
}

fn floor_divide(x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    if both_ints(x, y) {
        if !y.truth() && matches!(y.0, Repr::Int(_)) {
            return fail("floored division by zero");
        }
        return Ok(Some(divide_ints(x, y).0));
    }
    let Some((x, y)) = floats(x, y)? else {
        return Ok(None);
    };
    if y == 0.0 {
        return fail("floored division by zero");
    }
    Ok(Some(Value::from((x / y).floor())))
}

fn modulo(ctx: &mut Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    if let Repr::String(format) = &x.0 {
        return interpolate(ctx, format, y).map(Some);
    }
    if both_ints(x, y) {
        if !y.truth() && matches!(y.0, Repr::Int(_)) {
            return fail("integer modulo by zero");
        }
        return Ok(Some(divide_ints(x, y).1));
    }
    let Some((x, y)) = floats(x, y)? else {
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

/// Quotient towards minus infinity and the rest that goes with it. The divisor is not zero.
fn divide_ints(x: &Value, y: &Value) -> (Value, Value) {
    if let (Repr::Int(a), Repr::Int(b)) = (&x.0, &y.0)
        && let (Some(quotient), Some(rest)) = (a.checked_div(*b), a.checked_rem(*b))
    {
        return if rest != 0 && (*a < 0) != (*b < 0) {
            (Value::from(quotient - 1), Value::from(rest + b))
        } else {
            (Value::from(quotient), Value::from(rest))
        };
    }
    let (a, b) = (int::big(x), int::big(y));
    if *b == BigInt::ZERO {
        return (Value::from(0), Value::from(0));
    }
    let (quotient, rest) = (a.as_ref() / b.as_ref(), a.as_ref() % b.as_ref());
    if rest != BigInt::ZERO && (*a < BigInt::ZERO) != (*b < BigInt::ZERO) {
        (Value::from(quotient - 1), Value::from(rest + b.as_ref()))
    } else {
        (Value::from(quotient), Value::from(rest))
    }
}

/// `x in y`.
fn contains(ctx: &mut Context<'_>, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    let found = match &y.0 {
        Repr::Dict(dict) => dict.get(x).ok().flatten().is_some(),
        Repr::List(list) => {
            ctx.charge(list.len() / 8)?;
            contains_equal(&list.elements(), x)?
        }
        Repr::Tuple(tuple) => contains_equal(&tuple.0, x)?,
        Repr::Set(set) => set.contains(x)?,
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

fn contains_equal(elements: &[Value], wanted: &Value) -> Result<bool, Failure> {
    for element in elements {
        if equal(element, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn bitwise(op: Operator, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
    Ok(Some(match (&x.0, &y.0) {
        (Repr::Int(a), Repr::Int(b)) => Value::from(match op {
            Operator::And => a & b,
            Operator::Or => a | b,
            _ => a ^ b,
        }),
        (Repr::Dict(a), Repr::Dict(b)) if op == Operator::Or => {
            let union = Dict::with_capacity(a.len());
            for (key, value) in a.items().into_iter().chain(b.items()) {
                union.insert(key, value)?;
            }
            Value::from(union)
        }
        (Repr::Set(a), Repr::Set(b)) => Value::from(combine_sets(op, a, b)?),
        _ if both_ints(x, y) => {
            let (x, y) = (int::big(x), int::big(y));
            Value::from(match op {
                Operator::And => x.as_ref() & y.as_ref(),
                Operator::Or => x.as_ref() | y.as_ref(),
                _ => x.as_ref() ^ y.as_ref(),
            })
        }
        _ => return Ok(None),
    }))
}

fn combine_sets(op: Operator, x: &Set, y: &Rc<Set>) -> Result<Set, Failure> {
    let other = Value(Repr::Set(Rc::clone(y)));
    let other = Iter::new(&other).into_iter().flatten();
    match op {
        Operator::And => intersection(x, other),
        Operator::Or => union(x, other),
        _ => symmetric_difference(x, other),
    }
}

pub(crate) fn union(x: &Set, other: impl Iterator<Item = Value>) -> Result<Set, Failure> {
    let union = x.copy()?;
    for element in other {
        union.insert(element)?;
    }
    Ok(union)
}

pub(crate) fn intersection(x: &Set, other: impl Iterator<Item = Value>) -> Result<Set, Failure> {
    let intersection = Set::default();
    for element in other {
        if x.contains(&element)? {
            intersection.insert(element)?;
        }
    }
    Ok(intersection)
}

pub(crate) fn symmetric_difference(
    x: &Set,
    other: impl Iterator<Item = Value>,
) -> Result<Set, Failure> {
    let difference = x.copy()?;
    for element in other {
        if !difference.remove(&element)? {
            difference.insert(element)?;
        }
    }
    Ok(difference)
}

fn shift(op: Operator, x: &Value, y: &Value) -> Result<Option<Value>, Failure> {
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
        if shifted.bits() > MAX_INT_BITS {
            let bits = shifted.bits();
            return fail(format!(
                "int too large: {bits} bits, limit is {MAX_INT_BITS}"
            ));
        }
        return Ok(Some(Value::from(shifted)));
    }
    Ok(Some(Value::from(int::big(x).as_ref() >> bits)))
}
