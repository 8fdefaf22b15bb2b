//! Functions of numbers.

use num_bigint::BigInt;

use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::limits::MAX_INT_DIGITS;
use crate::usage::Usage;
use crate::value::{Repr, Value, as_i32, int as ints, new_int, number_to_int};

pub(super) fn abs(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let value = args.value(0);
    match &value.0 {
        Repr::Float(float) => Ok(Value::from(float.abs())),
        Repr::Int(int) if *int >= 0 => Ok(value),
        Repr::Int(_) | Repr::Big(_) => {
            let big = ints::big(&value).into_owned();
            new_int(ctx.usage, if big < BigInt::ZERO { -big } else { big })
        }
        _ => fail(format!("got {}, want int or float", value.type_name())),
    }
}

pub(super) fn float(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    if args.named().next().is_some() {
        return fail("float does not accept keyword arguments");
    }
    let value = match args.positional {
        [] => return Ok(Value::from(0.0)),
        [value] => value,
        others => return fail(format!("float got {} arguments, wants 1", others.len())),
    };
    match &value.0 {
        Repr::Bool(bool) => Ok(Value::from(f64::from(u8::from(*bool)))),
        Repr::Int(_) | Repr::Big(_) => Ok(Value::from(crate::eval::to_float(ctx.usage, value)?)),
        Repr::Float(_) => Ok(value.clone()),
        Repr::String(text) => parse_float(&String::from_utf8_lossy(text)),
        _ => fail(format!(
            "float got {}, want number or string",
            value.type_name()
        )),
    }
}

fn parse_float(text: &str) -> Result<Value, Failure> {
    if text.is_empty() {
        return fail("float: empty string");
    }
    let (negative, word) = match text.strip_prefix('-') {
        Some(word) => (true, word),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    match word.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => {
            return Ok(Value::from(if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }));
        }
        "nan" => return Ok(Value::from(f64::NAN)),
        _ => {}
    }
    match go_float(text) {
        Some(float) if float.is_infinite() => fail("floating-point number too large"),
        Some(float) => Ok(Value::from(float)),
        None => fail(format!("invalid float literal: {text}")),
    }
}

/// A float as Go parses it, without hexadecimal ones. Underscores are not digits.
pub(crate) fn go_float(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    text.parse().ok().filter(|_| plain)
}

pub(super) fn int(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let [value, base] = args.unpack([("x", Want::Any), ("base?", Want::Any)])?;
    let value = value.unwrap_or(Value::NONE);
    if let Some(text) = value.as_str_bytes() {
        let base = match &base {
            None => 10,
            Some(base) => match as_i32(base) {
                Ok(number) if number == 0 || (2..=36).contains(&number) => number,
                Ok(_) => return args.fail("base must be an integer >= 2 && <= 36"),
                Err(_) => {
                    return args.fail(format!("for base, got {}, want int", base.type_name()));
                }
            },
        };
        let text = String::from_utf8_lossy(text);
        return match parse_int(ctx.usage, &text, u32::try_from(base).unwrap_or(10))? {
            Some(int) => Ok(int),
            None => args.fail(format!("invalid literal with base {base}: {text}")),
        };
    }
    if base.is_some() {
        return args.fail("can't convert non-string with explicit base");
    }
    if let Repr::Bool(bool) = value.0 {
        return Ok(Value::from(i64::from(bool)));
    }
    args.naming(number_to_int(&value))
}

/// An integer with an optional sign and prefix; for base 0 the prefix decides.
fn parse_int(usage: &Usage<'_>, text: &str, base: u32) -> Result<Option<Value>, Failure> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut base = base;
    let mut digits = digits;
    if digits.len() > 1 && digits.starts_with('0') {
        let prefix = match digits.as_bytes().get(1) {
            Some(b'o' | b'O') if digits.len() > 2 => 8,
            Some(b'x' | b'X') if digits.len() > 2 => 16,
            Some(b'b' | b'B') if digits.len() > 2 => 2,
            _ => 0,
        };
        if prefix != 0 {
            if base == 0 || base == prefix {
                base = prefix;
                digits = digits.get(2..).unwrap_or_default();
            }
        } else if base == 0 {
            let is_zero = digits.bytes().all(|digit| digit == b'0');
            return Ok(is_zero.then(|| Value::from(0)));
        }
    }
    let base = if base == 0 { 10 } else { base };
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    if !valid || digits.len() > MAX_INT_DIGITS {
        return Ok(None);
    }
    if let Ok(small) = i64::from_str_radix(digits, base) {
        return Ok(Some(Value::from(if negative { -small } else { small })));
    }
    ints::charge_bits(usage, digits.len() as u64 * 4)?;
    let Some(big) = BigInt::parse_bytes(digits.as_bytes(), base) else {
        return Ok(None);
    };
    new_int(usage, if negative { -big } else { big }).map(Some)
}
