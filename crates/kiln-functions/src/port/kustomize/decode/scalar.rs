//! What a scalar means to whoever reads a configuration.

use kiln_yaml::NodeRef;

use super::super::number::shortest_32;
use super::Reader;

/// A scalar's meaning.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

impl Scalar {
    pub(super) fn read(node: NodeRef<'_>, reader: Reader) -> Scalar {
        let text = node.value();
        if node.style().is_quoted_or_block() {
            return Scalar::Text(text.to_owned());
        }
        match (reader, node.tag()) {
            (Reader::Kubernetes, _) => plain_1_1(text),
            (Reader::Json, "!!null") => Scalar::Null,
            (Reader::Json, "!!bool") => Scalar::Bool(text.eq_ignore_ascii_case("true")),
            (Reader::Json, "!!int" | "!!float") => match number(text) {
                // JSON does not tell whole numbers from others.
                Scalar::Float(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => {
                    Scalar::Int(whole as i128)
                }
                number => number,
            },
            (Reader::Json, _) => Scalar::Text(text.to_owned()),
        }
    }

    /// The text that it becomes where a text is wanted.
    pub(super) fn text(self) -> String {
        match self {
            Scalar::Null => String::new(),
            Scalar::Bool(flag) => flag.to_string(),
            Scalar::Int(number) => number.to_string(),
            Scalar::Float(f64::INFINITY) => "+Inf".to_owned(),
            Scalar::Float(f64::NEG_INFINITY) => "-Inf".to_owned(),
            Scalar::Float(number) if number.is_nan() => "NaN".to_owned(),
            Scalar::Float(number) => shortest_32(number),
            Scalar::Text(text) => text,
        }
    }
}

/// A plain scalar by the rules of YAML 1.1, as go-yaml's second version has them.
fn plain_1_1(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => number(text),
    }
}

fn number(text: &str) -> Scalar {
    let as_text = || Scalar::Text(text.to_owned());
    let plain = match text.as_bytes().first() {
        Some(b'.') => return float(text).map_or_else(as_text, Scalar::Float),
        Some(b'0'..=b'9' | b'+' | b'-') => text.replace('_', ""),
        _ => return as_text(),
    };
    if let Some(number) = integer(&plain) {
        return Scalar::Int(number);
    }
    float(&plain).map_or_else(as_text, Scalar::Float)
}

/// An integer in Go's notations, if it fits 64 bits with or without sign.
fn integer(text: &str) -> Option<i128> {
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

fn float(text: &str) -> Option<f64> {
    let is_numeric = |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let number: f64 = text.bytes().all(is_numeric).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}
