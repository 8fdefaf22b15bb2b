//! Equality and order.
//!
//! As in the original, values nested deeper than ten levels are not compared, as a guard against cycles. Values with
//! shared parts may still be large, so every comparison of two parts is charged.

use std::cmp::Ordering;
use std::rc::Rc;

use num_bigint::BigInt;

use super::{Dict, Repr, Set, Struct, Value};
use crate::error::{Failure, fail};
use crate::usage::Usage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    /// The result for two values that can only be tested for equality.
    fn of_equality(self, equal: bool, x: &Value, y: &Value) -> Result<bool, Failure> {
        match self {
            Comparison::Equal => Ok(equal),
            Comparison::NotEqual => Ok(!equal),
            _ => fail(format!(
                "{} {} {} not implemented",
                x.type_name(),
                self.name(),
                y.type_name()
            )),
        }
    }
}

const LIMIT: u32 = 10;

pub(crate) fn equal(usage: &Usage<'_>, x: &Value, y: &Value) -> Result<bool, Failure> {
    compare_deep(usage, Comparison::Equal, x, y, LIMIT)
}

pub(crate) fn compare(
    usage: &Usage<'_>,
    comparison: Comparison,
    x: &Value,
    y: &Value,
) -> Result<bool, Failure> {
    compare_deep(usage, comparison, x, y, LIMIT)
}

fn compare_deep(
    usage: &Usage<'_>,
    op: Comparison,
    x: &Value,
    y: &Value,
    depth: u32,
) -> Result<bool, Failure> {
    if depth < 1 {
        return fail("comparison exceeded maximum recursion depth");
    }
    usage.charge(1 + size_of_text(x).min(size_of_text(y)) / 64)?;
    Ok(match (&x.0, &y.0) {
        (Repr::Int(x), Repr::Int(y)) => op.holds(x.cmp(y)),
        (Repr::String(x), Repr::String(y)) | (Repr::Bytes(x), Repr::Bytes(y)) => op.holds(x.cmp(y)),
        (Repr::Bool(x), Repr::Bool(y)) => op.holds(x.cmp(y)),
        (Repr::Float(x), Repr::Float(y)) => op.holds(order_floats(*x, *y)),
        (Repr::Int(_) | Repr::Big(_), Repr::Int(_) | Repr::Big(_)) => {
            op.holds(super::int::big(x).cmp(&super::int::big(y)))
        }
        (Repr::Int(_) | Repr::Big(_), Repr::Float(float)) => op.holds(order_int_float(x, *float)),
        (Repr::Float(float), Repr::Int(_) | Repr::Big(_)) => {
            op.holds(order_int_float(y, *float).reverse())
        }
        (Repr::List(a), Repr::List(b)) => {
            return compare_sequences(usage, op, &a.elements(), &b.elements(), depth);
        }
        (Repr::Tuple(a), Repr::Tuple(b)) => return compare_sequences(usage, op, &a.0, &b.0, depth),
        (Repr::Dict(a), Repr::Dict(b)) => {
            return op.of_equality(equal_dicts(usage, a, b, depth)?, x, y);
        }
        (Repr::Set(a), Repr::Set(b)) => return compare_sets(usage, op, a, b),
        (Repr::Range(a), Repr::Range(b)) => return op.of_equality(a.same_as(b), x, y),
        (Repr::Struct(a), Repr::Struct(b)) => {
            return op.of_equality(equal_structs(usage, a, b, depth)?, x, y);
        }
        (Repr::None, Repr::None) => return op.of_equality(true, x, y),
        (Repr::Function(a), Repr::Function(b)) => return op.of_equality(Rc::ptr_eq(a, b), x, y),
        (Repr::Builtin(a), Repr::Builtin(b)) => return op.of_equality(Rc::ptr_eq(a, b), x, y),
        (Repr::Module(a), Repr::Module(b)) => return op.of_equality(Rc::ptr_eq(a, b), x, y),
        (Repr::View(a), Repr::View(b)) => return op.of_equality(a == b, x, y),
        (Repr::Object(a), Repr::Object(b)) if a.type_name() == b.type_name() => {
            match a.order(b.as_ref()) {
                Some(ordering) => op.holds(ordering),
                None => return op.of_equality(Rc::ptr_eq(a, b), x, y),
            }
        }
        _ => return op.of_equality(false, x, y),
    })
}

/// How many bytes a comparison may read.
fn size_of_text(value: &Value) -> usize {
    match &value.0 {
        Repr::String(bytes) | Repr::Bytes(bytes) => bytes.len(),
        Repr::View(view) => view.bytes.len(),
        _ => 0,
    }
}

fn compare_sequences(
    usage: &Usage<'_>,
    op: Comparison,
    x: &[Value],
    y: &[Value],
    depth: u32,
) -> Result<bool, Failure> {
    let by_equality = matches!(op, Comparison::Equal | Comparison::NotEqual);
    if by_equality && x.len() != y.len() {
        return Ok(op == Comparison::NotEqual);
    }
    for (a, b) in x.iter().zip(y) {
        if !compare_deep(usage, Comparison::Equal, a, b, depth - 1)? {
            if by_equality {
                return Ok(op == Comparison::NotEqual);
            }
            return compare_deep(usage, op, a, b, depth - 1);
        }
    }
    Ok(op.holds(x.len().cmp(&y.len())))
}

fn equal_dicts(usage: &Usage<'_>, x: &Dict, y: &Dict, depth: u32) -> Result<bool, Failure> {
    if x.len() != y.len() {
        return Ok(false);
    }
    let (x, y) = (x.table(), y.table());
    for (key, a) in x.iter() {
        match y.get(usage, key) {
            Ok(Some(b)) if compare_deep(usage, Comparison::Equal, a, b, depth - 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn compare_sets(usage: &Usage<'_>, op: Comparison, x: &Set, y: &Set) -> Result<bool, Failure> {
    let sizes = x.len().cmp(&y.len());
    match op {
        Comparison::Equal => Ok(sizes.is_eq() && x.includes(usage, &y.0.table())?),
        Comparison::NotEqual => Ok(!(sizes.is_eq() && x.includes(usage, &y.0.table())?)),
        Comparison::Less | Comparison::LessOrEqual => {
            Ok(op.holds(sizes) && y.includes(usage, &x.0.table())?)
        }
        Comparison::Greater | Comparison::GreaterOrEqual => {
            Ok(op.holds(sizes) && x.includes(usage, &y.0.table())?)
        }
    }
}

fn equal_structs(usage: &Usage<'_>, x: &Struct, y: &Struct, depth: u32) -> Result<bool, Failure> {
    if x.fields().count() != y.fields().count() {
        return Ok(false);
    }
    for ((name, a), (other, b)) in x.fields().zip(y.fields()) {
        if name != other || !compare_deep(usage, Comparison::Equal, a, b, depth - 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// NaN equals itself and is greater than everything else.
fn order_floats(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y)
        .unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}

fn order_int_float(int: &Value, float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        return Ordering::Less;
    }
    if float == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    let whole: BigInt = super::int::big(&super::int::truncate(float)).into_owned();
    let fraction = float - float.trunc();
    let by_whole = super::int::big(int).as_ref().cmp(&whole);
    by_whole.then_with(|| 0.0f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal))
}
