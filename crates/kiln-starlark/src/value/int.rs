//! Integers of any size.

use std::borrow::Cow;

use num_bigint::BigInt;

use super::{Repr, Value};
use crate::error::{Failure, fail};
use crate::usage::Usage;

/// An integer that a run creates, charged.
pub(crate) fn new_int(usage: &Usage<'_>, big: BigInt) -> Result<Value, Failure> {
    let value = Value::from(big);
    if let Repr::Big(big) = &value.0 {
        usage.allocate(size(big))?;
    }
    Ok(value)
}

pub(crate) fn size(big: &BigInt) -> usize {
    usize::try_from(big.bits() / 8).unwrap_or(usize::MAX) + 48
}

/// Charges the time to multiply, divide, parse or print integers of that many bits.
pub(crate) fn charge_bits(usage: &Usage<'_>, bits: u64) -> Result<(), Failure> {
    let steps = bits.saturating_mul(bits) / 65536;
    usage.charge(usize::try_from(steps).unwrap_or(usize::MAX))
}

/// The bits of an integer; zero for other values.
pub(crate) fn bits(value: &Value) -> u64 {
    match &value.0 {
        Repr::Int(_) => 64,
        Repr::Big(big) => big.bits(),
        _ => 0,
    }
}

/// The integer as a big one; zero for other values.
pub(crate) fn big(value: &Value) -> Cow<'_, BigInt> {
    match &value.0 {
        Repr::Int(int) => Cow::Owned(BigInt::from(*int)),
        Repr::Big(big) => Cow::Borrowed(big),
        _ => Cow::Owned(BigInt::ZERO),
    }
}

/// A finite float without its fraction.
pub(crate) fn truncate(float: f64) -> Value {
    // Both bounds are exact floats.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float) {
        return Value::from(float as i64);
    }
    let bits = float.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i64 - 1075;
    let mantissa = BigInt::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let magnitude = mantissa << usize::try_from(exponent).unwrap_or(0);
    Value::from(if float.is_sign_negative() {
        -magnitude
    } else {
        magnitude
    })
}

/// An integer, or a float without its fraction.
pub(crate) fn number_to_int(value: &Value) -> Result<Value, Failure> {
    match &value.0 {
        Repr::Int(_) | Repr::Big(_) => Ok(value.clone()),
        Repr::Float(float) if float.is_infinite() => {
            fail("cannot convert float infinity to integer")
        }
        Repr::Float(float) if float.is_nan() => fail("cannot convert float NaN to integer"),
        Repr::Float(float) => Ok(truncate(*float)),
        _ => fail(format!("cannot convert {} to int", value.type_name())),
    }
}

/// An integer of 32 bits, which is what indices are.
pub(crate) fn as_i32(value: &Value) -> Result<i64, Failure> {
    match &value.0 {
        Repr::Int(int) if i32::try_from(*int).is_ok() => Ok(*int),
        Repr::Int(_) | Repr::Big(_) => fail(format!("{} out of range", big(value))),
        _ => fail(format!("got {}, want int", value.type_name())),
    }
}

/// An integer of 64 bits.
pub(crate) fn as_i64(value: &Value) -> Result<i64, Failure> {
    match &value.0 {
        Repr::Int(int) => Ok(*int),
        Repr::Big(big) => fail(format!(
            "{big} out of range (want value in signed 64-bit range)"
        )),
        _ => fail(format!("got {}, want int", value.type_name())),
    }
}

/// An integer from 0 to 255.
pub(crate) fn as_byte(value: &Value) -> Result<u8, Failure> {
    match &value.0 {
        Repr::Int(int) if u8::try_from(*int).is_ok() => Ok(u8::try_from(*int).unwrap_or_default()),
        Repr::Int(_) | Repr::Big(_) => fail(format!(
            "{} out of range (want value in unsigned 8-bit range)",
            big(value)
        )),
        _ => fail(format!("got {}, want int", value.type_name())),
    }
}
