//! Number literals.

use num_bigint::BigInt;

use crate::limits::MAX_INT_DIGITS;

/// The value of an int literal: small, or small and big.
pub(crate) fn int(text: &str) -> Option<(i64, Option<BigInt>)> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (lower.get(2..)?, 16),
        Some("0o") => (lower.get(2..)?, 8),
        Some("0b") => (lower.get(2..)?, 2),
        // 00 is zero; 09 would be an octal literal.
        Some(zero) if zero.starts_with('0') => (lower.get(1..)?, 8),
        _ => (lower.as_str(), 10),
    };
    if let Ok(small) = i64::from_str_radix(digits, radix) {
        return Some((small, None));
    }
    // The original parses big numbers in these two notations only.
    if radix == 8 && lower.starts_with("0o") || radix == 2 {
        return None;
    }
    if digits.len() > MAX_INT_DIGITS {
        return None;
    }
    let big = BigInt::parse_bytes(digits.as_bytes(), radix)?;
    Some((0, Some(big)))
}

/// The value of a float literal; `None` if it exceeds the range of floats.
pub(crate) fn float(text: &str) -> Option<f64> {
    // As in Go, "1e" is invalid and "1." is valid.
    let last = text.as_bytes().last()?;
    if matches!(last, b'e' | b'E') {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}
