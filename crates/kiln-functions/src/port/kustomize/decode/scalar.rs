//! How the libraries resolve scalars of a configuration.

use kiln_go::parse_integer;
use kiln_yaml::NodeRef;

use super::super::number::shortest_32;
use super::YamlReader;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum DecodedScalar {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

impl DecodedScalar {
    pub(super) fn read(node: NodeRef<'_>, reader: YamlReader) -> DecodedScalar {
        let text = node.value();
        if node.style().is_quoted_or_block() {
            return DecodedScalar::Text(text.to_owned());
        }
        match (reader, node.tag()) {
            (YamlReader::Kubernetes, _) => plain_1_1(text),
            (YamlReader::Json, "!!null") => DecodedScalar::Null,
            (YamlReader::Json, "!!bool") => DecodedScalar::Bool(text.eq_ignore_ascii_case("true")),
            (YamlReader::Json, "!!int" | "!!float") => match number(text) {
                // JSON does not distinguish integers from other numbers.
                DecodedScalar::Float(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => {
                    DecodedScalar::Int(whole as i128)
                }
                number => number,
            },
            (YamlReader::Json, _) => DecodedScalar::Text(text.to_owned()),
        }
    }

    /// The string that it becomes where a string is declared.
    pub(super) fn text(self) -> String {
        match self {
            DecodedScalar::Null => String::new(),
            DecodedScalar::Bool(flag) => flag.to_string(),
            DecodedScalar::Int(number) => number.to_string(),
            DecodedScalar::Float(f64::INFINITY) => "+Inf".to_owned(),
            DecodedScalar::Float(f64::NEG_INFINITY) => "-Inf".to_owned(),
            DecodedScalar::Float(number) if number.is_nan() => "NaN".to_owned(),
            DecodedScalar::Float(number) => shortest_32(number),
            DecodedScalar::Text(text) => text,
        }
    }
}

/// A plain scalar by the rules of YAML 1.1, as in go-yaml v2.
fn plain_1_1(text: &str) -> DecodedScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => DecodedScalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            DecodedScalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            DecodedScalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => DecodedScalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            DecodedScalar::Float(f64::INFINITY)
        }
        "-.inf" | "-.Inf" | "-.INF" => DecodedScalar::Float(f64::NEG_INFINITY),
        _ => number(text),
    }
}

fn number(text: &str) -> DecodedScalar {
    let as_text = || DecodedScalar::Text(text.to_owned());
    let plain = match text.as_bytes().first() {
        Some(b'.') => return float(text).map_or_else(as_text, DecodedScalar::Float),
        Some(b'0'..=b'9' | b'+' | b'-') => text.replace('_', ""),
        _ => return as_text(),
    };
    if let Some(number) = parse_integer(&plain) {
        return DecodedScalar::Int(number);
    }
    float(&plain).map_or_else(as_text, DecodedScalar::Float)
}

fn float(text: &str) -> Option<f64> {
    let is_numeric = |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let number: f64 = text.bytes().all(is_numeric).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}
