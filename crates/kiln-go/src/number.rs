//! Values as Go's `strconv` reads them, and its errors.

use std::error::Error;
use std::fmt;

use crate::quote::quote;

const SYNTAX: &str = "invalid syntax";
const RANGE: &str = "value out of range";

/// A text is not a value of the wanted type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberError {
    function: &'static str,
    text: String,
    reason: &'static str,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NumberError {
            function, reason, ..
        } = self;
        let text = quote(&self.text);
        write!(f, "strconv.{function}: parsing {text}: {reason}")
    }
}

impl Error for NumberError {}

/// Reads a truth value in one of the spellings of `strconv.ParseBool`.
pub fn parse_bool(text: &str) -> Result<bool, NumberError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(NumberError {
            function: "ParseBool",
            text: text.to_owned(),
            reason: SYNTAX,
        }),
    }
}

/// Reads a decimal integer, as `strconv.Atoi` does on machines of 64 bits.
pub fn atoi(text: &str) -> Result<i64, NumberError> {
    let refused = |reason| NumberError {
        function: "Atoi",
        text: text.to_owned(),
        reason,
    };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused(SYNTAX));
    }
    text.parse().map_err(|_| refused(RANGE))
}

/// Reads an integer with a prefix for its base, as `strconv.ParseInt` and `strconv.ParseUint` do with base 0: `0x1f`, `0o17`,
/// `017`, `0b11`. It must fit 64 bits, with or without a sign.
pub fn parse_integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let (radix, skip) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, 2),
        [b'0', b'o' | b'O', ..] => (8, 2),
        [b'0', b'b' | b'B', ..] => (2, 2),
        [b'0', _, ..] => (8, 1),
        _ => (10, 0),
    };
    let digits = digits.get(skip..)?;
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let number = sign * i128::from_str_radix(digits, radix).ok()?;
    let fits = i64::try_from(number).is_ok() || u64::try_from(number).is_ok();
    fits.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::{atoi, parse_bool, parse_integer};

    #[test]
    fn prefixes_name_the_base_of_an_integer() {
        for (text, wanted) in [
            ("0", Some(0)),
            ("-0x1F", Some(-31)),
            ("+0b11", Some(3)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("18446744073709551615", Some(i128::from(u64::MAX))),
            ("18446744073709551616", None),
            ("-9223372036854775809", None),
            ("08", None),
            ("0x", None),
            ("--1", None),
            ("", None),
        ] {
            assert_eq!(parse_integer(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn integers_are_read_like_go() {
        for (text, wanted) in [
            ("0", Ok(0)),
            ("-3", Ok(-3)),
            ("+007", Ok(7)),
            ("9223372036854775807", Ok(i64::MAX)),
            ("x", Err(r#"strconv.Atoi: parsing "x": invalid syntax"#)),
            ("", Err(r#"strconv.Atoi: parsing "": invalid syntax"#)),
            ("-", Err(r#"strconv.Atoi: parsing "-": invalid syntax"#)),
            ("1_0", Err(r#"strconv.Atoi: parsing "1_0": invalid syntax"#)),
            (
                "9223372036854775808",
                Err(r#"strconv.Atoi: parsing "9223372036854775808": value out of range"#),
            ),
        ] {
            let got = atoi(text).map_err(|error| error.to_string());
            assert_eq!(got, wanted.map_err(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn truth_values_are_read_like_go() {
        for text in ["1", "t", "T", "true", "TRUE", "True"] {
            assert_eq!(parse_bool(text), Ok(true));
        }
        for text in ["0", "f", "F", "false", "FALSE", "False"] {
            assert_eq!(parse_bool(text), Ok(false));
        }
        let error = parse_bool("yes").expect_err("not a truth value");
        let message = r#"strconv.ParseBool: parsing "yes": invalid syntax"#;
        assert_eq!(error.to_string(), message);
    }
}
