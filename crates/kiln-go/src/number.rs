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

#[cfg(test)]
mod tests {
    use super::{atoi, parse_bool};

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
