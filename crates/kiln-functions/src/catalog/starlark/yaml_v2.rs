//! `encoding/yaml.star`: YAML as go-yaml v2 reads and writes it.

use kiln_krm::record::is_base_60;
use kiln_starlark::{Arguments, Builtin, Context, Failure, Module, NativeFn, Value, ValueKind};
use kiln_yaml::{Document, NodeRef, SequenceStyle};

use super::encode::NODE_BYTES;
use super::time::Time;
use super::{decode, encode};
use crate::port::go_yaml::duplicate_keys;

pub(super) fn module() -> Value {
    let members = [("loads", loads as NativeFn), ("dumps", dumps)];
    let members = members.map(|(name, function)| {
        let function = Value::from(Builtin::new(name, function));
        (name.to_owned(), function)
    });
    Value::from(Module::new("yaml", members.into()))
}

fn loads(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let source = args.one("source")?;
    let ValueKind::String(text) = source.kind() else {
        let type_name = source.type_name();
        return args.fail(format!(
            "for parameter source: got {type_name}, want string"
        ));
    };
    // Every node but the first follows one of these characters. The text itself is copied.
    let is_structure = |byte: &&u8| b",:-[]{}\n?".contains(byte);
    let nodes = text.iter().filter(is_structure).count() + 1;
    ctx.charge(text.len() / 4)?;
    ctx.allocate(nodes.saturating_mul(NODE_BYTES))?;
    ctx.allocate(text.len().saturating_mul(3))?;
    let text = String::from_utf8_lossy(text);
    match kiln_yaml::parse(&text) {
        Ok(None) => Ok(Value::NONE),
        Ok(Some(document)) => {
            let decoded = decode::decode_with(ctx.usage(), &document, scalar);
            decoded.map_err(|trouble| match trouble {
                decode::DecodeFailure::Failure(failure) => failure,
                decode::DecodeFailure::DuplicateKey => duplicate(&document),
            })
        }
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

fn dumps(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let source = args.one("source")?;
    let document = encode::document(ctx.usage(), &source, is_other)?;
    // The maximum length of the text was charged with the nodes.
    let text = kiln_yaml::to_string(&document, SequenceStyle::Compact);
    Value::new_string(ctx.usage(), text)
}

/// The error about duplicate keys.
fn duplicate(document: &Document) -> Failure {
    let reports = duplicate_keys::reports_of(document.root());
    Failure::new(duplicate_keys::message(&reports))
}

/// The value of a scalar in YAML 1.1, as go-yaml v2 resolves it.
fn scalar(node: NodeRef<'_>) -> Value {
    let text = node.value();
    match node.style().is_quoted_or_block() {
        true => Value::string(text),
        false => plain(text).unwrap_or_else(|| Value::string(text)),
    }
}

/// Whether an unquoted text is not a string.
fn is_other(text: &str) -> bool {
    plain(text).is_some() || is_base_60(text) || text == "<<" || Time::parse(text).is_some()
}

/// The value of a plain text that is not a string.
fn plain(text: &str) -> Option<Value> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::NONE,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::from(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::from(false)
        }
        _ => {
            let first = text.as_bytes().first()?;
            if !matches!(first, b'0'..=b'9' | b'.' | b'+' | b'-') {
                return None;
            }
            let is_special = text.ends_with(|last: char| last.is_ascii_alphabetic());
            match decode::int(text) {
                Some(int) => int,
                None if is_special || is_float(text) => decode::float(text)?,
                None => return None,
            }
        }
    })
}

/// Digits with at most one point, and an exponent that has a sign.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let exponent =
        exponent.is_none_or(|exponent| exponent.strip_prefix(['-', '+']).is_some_and(all_digits));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or(("", mantissa));
    exponent && (whole.is_empty() || all_digits(whole)) && all_digits(fraction)
}
