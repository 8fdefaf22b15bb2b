//! Hashes of values: equal values have equal hashes.
//!
//! Seeded once per thread, so that colliding keys cannot be prepared. Order is never affected.

use std::hash::{BuildHasher, RandomState};

use num_bigint::BigInt;

use super::{Repr, Value, ValueChildren};
use crate::error::{Failure, fail};
use crate::usage::Usage;

thread_local! {
    static SEED: u64 = RandomState::new().hash_one(0u8) | 1;
}

/// Rejects values that cannot be keys.
pub(super) fn check_hashable(usage: &Usage<'_>, value: &Value) -> Result<(), Failure> {
    match &value.0 {
        Repr::Tuple(_) | Repr::Struct(_) | Repr::Object(_) => hash(usage, value).map(|_| ()),
        _ => match unhashable(value) {
            Some(message) => fail(message),
            None => Ok(()),
        },
    }
}

pub(super) fn hash(usage: &Usage<'_>, value: &Value) -> Result<u64, Failure> {
    let seed = SEED.with(|seed| *seed);
    let mut state = hash_one(usage, seed, value)?;
    if !matches!(value.0, Repr::Tuple(_) | Repr::Struct(_)) {
        return Ok(state);
    }
    let mut open = vec![ValueChildren::new(value)];
    while let Some(children) = open.last_mut() {
        let Some(child) = children.next() else {
            open.pop();
            continue;
        };
        if let Some(name) = child.key.as_ref().and_then(Value::as_str_bytes) {
            state = mix_bytes(state, name);
        }
        state = hash_one(usage, state, &child.value)?;
        if matches!(child.value.0, Repr::Tuple(_) | Repr::Struct(_)) {
            open.push(ValueChildren::new(&child.value));
        }
    }
    Ok(state)
}

/// Hashes a value without its parts.
fn hash_one(usage: &Usage<'_>, state: u64, value: &Value) -> Result<u64, Failure> {
    let length = match &value.0 {
        Repr::String(bytes) | Repr::Bytes(bytes) => bytes.len(),
        Repr::Big(big) => 8 * big.iter_u64_digits().len(),
        _ => 0,
    };
    usage.charge(1 + length / 64)?;
    if let Some(message) = unhashable(value) {
        return fail(message);
    }
    Ok(match &value.0 {
        Repr::None => mix(state, 1),
        Repr::Bool(bool) => mix(state, 2 + u64::from(*bool)),
        Repr::Int(int) => mix(state, *int as u64),
        Repr::Big(big) => mix_digits(state, big),
        Repr::Float(float) => mix_float(state, *float),
        Repr::String(bytes) | Repr::Bytes(bytes) => mix_bytes(state, bytes),
        Repr::Tuple(tuple) => mix(state, tuple.0.len() as u64),
        Repr::Function(function) => mix_bytes(state, function.code.name.as_bytes()),
        Repr::Builtin(builtin) => mix_bytes(state, builtin.name().as_bytes()),
        Repr::Object(object) => mix_bytes(state, &object.repr()),
        _ => state,
    })
}

/// Floats that equal an int must have its hash. All others equal only themselves, or are not finite.
fn mix_float(state: u64, float: f64) -> u64 {
    if !float.is_finite() {
        return mix(state, 1_618_033);
    }
    if float.fract() != 0.0 {
        return mix(state, float.to_bits());
    }
    match super::int::truncate(float).0 {
        Repr::Int(int) => mix(state, int as u64),
        Repr::Big(big) => mix_digits(state, &big),
        _ => state,
    }
}

/// The last digits of a large int alone may be zero for many.
fn mix_digits(state: u64, big: &BigInt) -> u64 {
    big.iter_u64_digits().fold(state, mix)
}

fn unhashable(value: &Value) -> Option<String> {
    Some(match &value.0 {
        Repr::List(_) | Repr::Dict(_) | Repr::Set(_) => {
            format!("unhashable type: {}", value.type_name())
        }
        Repr::Range(_) | Repr::Module(_) | Repr::View(_) => {
            format!("unhashable: {}", value.type_name())
        }
        Repr::Object(object) if !object.is_hashable() => {
            format!("unhashable: {}", value.type_name())
        }
        _ => return None,
    })
}

fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * u128::from(0x9E37_79B9_7F4A_7C15u64);
    let folded = (product as u64) ^ ((product >> 64) as u64);
    folded.wrapping_add(word.rotate_left(29)) ^ state.rotate_left(17)
}

fn mix_bytes(mut state: u64, bytes: &[u8]) -> u64 {
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        if let Some(head) = word.get_mut(..chunk.len()) {
            head.copy_from_slice(chunk);
        }
        state = mix(state, u64::from_le_bytes(word));
    }
    mix(state, bytes.len() as u64)
}
