//! One line of a recorded set.

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::kind::Kind;
use super::nodes;

/// An input and Go's output.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) input: Vec<u8>,
    pub(crate) expected: Vec<(Kind, Expected)>,
}

pub(crate) enum Expected {
    Output(Vec<u8>),
    /// The first line of Go's error.
    Refused(String),
}

impl Case {
    /// Reads a recorded line. Recurses by the depth of a recorded tree, see [`super::LOADER_STACK`].
    pub(crate) fn read(line: &str) -> anyhow::Result<Case> {
        let record = parse(line)?;
        let input = field(&record, "in")?.context("no input")?;
        Case::from_record(&record, input)
    }

    /// Reads an answer of the oracle, which does not repeat its input.
    pub(crate) fn read_answer(line: &str, input: Vec<u8>) -> anyhow::Result<Case> {
        Case::from_record(&parse(line)?, input)
    }

    fn from_record(record: &Value, input: Vec<u8>) -> anyhow::Result<Case> {
        let id = match &record["id"] {
            Value::String(id) => id.clone(),
            Value::Null => bail!("no id"),
            other => other.to_string(),
        };
        let mut expected = Vec::new();
        for kind in Kind::ALL {
            let wanted = expectation(record, kind);
            let wanted = wanted.with_context(|| format!("in {} of {id}", kind.name()))?;
            expected.extend(wanted.map(|wanted| (kind, wanted)));
        }
        Ok(Case {
            id,
            input,
            expected,
        })
    }
}

fn parse(line: &str) -> anyhow::Result<Value> {
    let mut json = serde_json::Deserializer::from_str(line);
    json.disable_recursion_limit();
    Value::deserialize(&mut json).context("not JSON")
}

/// The record for a kind; `None` without an output or a refusal.
fn expectation(record: &Value, kind: Kind) -> anyhow::Result<Option<Expected>> {
    let name = kind.name();
    if kind == Kind::Nodes {
        return match &record[name] {
            Value::Null => Ok(None),
            trees => Ok(Some(Expected::Output(
                nodes::dump_recorded(trees)?.into_bytes(),
            ))),
        };
    }
    let refusal = &record["refused"][name];
    if refusal.is_null() {
        return Ok(field(record, name)?.map(Expected::Output));
    }
    let message = bytes(refusal)?;
    let message = String::from_utf8_lossy(&message).trim_end().to_owned();
    // A crash of Go does not show the right output.
    Ok((!message.starts_with("panic: ")).then_some(Expected::Refused(message)))
}

/// A field's bytes, with `same` resolved.
fn field(record: &Value, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let mut value = &record[name];
    let mut steps = 0;
    while let Some(other) = value["same"].as_str() {
        value = &record[other];
        steps += 1;
        if value.is_null() || steps > Kind::ALL.len() + 1 {
            bail!("{name} is the same as {other}, which leads nowhere");
        }
    }
    match value {
        Value::Null => Ok(None),
        value => Ok(Some(bytes(value)?)),
    }
}

/// An input as it is written in a record.
pub(crate) fn to_value(input: &[u8]) -> Value {
    match str::from_utf8(input) {
        Ok(text) => Value::from(text),
        Err(_) => serde_json::json!({ "base64": BASE64_STANDARD.encode(input) }),
    }
}

/// A text, or bytes that are not UTF-8.
pub(crate) fn bytes(value: &Value) -> anyhow::Result<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Ok(text.as_bytes().to_owned());
    }
    let encoded = value["base64"].as_str();
    let encoded = encoded.context("neither a text nor base64")?;
    BASE64_STANDARD.decode(encoded).context("bad base64")
}
