//! Slices: `x[low:high:step]`.

use std::rc::Rc;

use super::arguments::as_index;
use super::context::Context;
use crate::builder::STRING_BYTES;
use crate::error::{Failure, fail};
use crate::value::{Repr, Value, as_i32};

/// The bounds of a slice, clamped to the sequence.
pub(crate) fn indices(
    start: Option<&Value>,
    end: Option<&Value>,
    length: usize,
) -> Result<(usize, usize), Failure> {
    let size = i64::try_from(length).unwrap_or(i64::MAX);
    let clamp = |index: i64| usize::try_from(index.clamp(0, size)).unwrap_or(length);
    let start = as_index(start, size).map_err(|failure| failure.within("invalid start index"))?;
    let end = as_index(end, size).map_err(|failure| failure.within("invalid end index"))?;
    Ok((start.map_or(0, clamp), end.map_or(length, clamp)))
}

pub(crate) fn slice(
    ctx: &mut Context<'_>,
    value: &Value,
    low: &Value,
    high: &Value,
    step: &Value,
) -> Result<Value, Failure> {
    let sliceable = matches!(
        value.0,
        Repr::String(_) | Repr::Bytes(_) | Repr::List(_) | Repr::Tuple(_) | Repr::Range(_)
    );
    let Some(length) = value.length().filter(|_| sliceable) else {
        return fail(format!("invalid slice operand {}", value.type_name()));
    };
    let step = if step.is_none() {
        1
    } else {
        as_i32(step).map_err(|failure| failure.within("invalid slice step"))?
    };
    if step == 0 {
        return fail("zero is not a valid slice step");
    }
    let size = i64::try_from(length).unwrap_or(i64::MAX);
    let (start, end) = if step > 0 {
        let (start, end) = indices(Some(low), Some(high), length)?;
        (start as i64, end.max(start) as i64)
    } else {
        let start = as_index(Some(low), size);
        let start = start.map_err(|failure| failure.within("invalid start index"))?;
        let start = start.unwrap_or(size - 1).min(size - 1);
        let end = as_index(Some(high), size);
        let end = end.map_err(|failure| failure.within("invalid end index"))?;
        let end = end.unwrap_or(-1).max(-1);
        (start.max(end), end)
    };
    if let Repr::Range(range) = &value.0 {
        ctx.allocate(64)?;
        return Ok(Value(Repr::Range(Rc::new(range.slice(start, end, step)))));
    }
    let range = crate::value::Range::new(start, end, step);
    ctx.charge(range.length / if step == 1 { 64 } else { 4 })?;
    let places = (0..range.length).filter_map(|i| match range.get(i).0 {
        Repr::Int(place) => usize::try_from(place).ok(),
        _ => None,
    });
    match &value.0 {
        Repr::String(bytes) => {
            ctx.allocate(2 * range.length + STRING_BYTES)?;
            Ok(Value::string(pick(
                bytes,
                start,
                step,
                range.length,
                places,
            )))
        }
        Repr::Bytes(bytes) => {
            ctx.allocate(2 * range.length + STRING_BYTES)?;
            Ok(Value::bytes(pick(bytes, start, step, range.length, places)))
        }
        Repr::List(list) => {
            ctx.allocate_values(range.length + 2)?;
            let elements = list.elements();
            Ok(Value::list(
                places
                    .filter_map(|place| elements.get(place).cloned())
                    .collect(),
            ))
        }
        Repr::Tuple(tuple) => {
            ctx.allocate_values(range.length + 2)?;
            Ok(Value::tuple(
                places
                    .filter_map(|place| tuple.0.get(place).cloned())
                    .collect(),
            ))
        }
        _ => fail(format!("invalid slice operand {}", value.type_name())),
    }
}

fn pick(
    bytes: &[u8],
    start: i64,
    step: i64,
    length: usize,
    places: impl Iterator<Item = usize>,
) -> Vec<u8> {
    if step == 1
        && let Ok(start) = usize::try_from(start)
    {
        return bytes
            .get(start..start + length)
            .unwrap_or_default()
            .to_vec();
    }
    places
        .filter_map(|place| bytes.get(place).copied())
        .collect()
}
