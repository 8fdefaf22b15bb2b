//! Converts YAML trees to JSON, by the rules of the library that the original uses.

use std::collections::{HashMap, HashSet};

use kiln_yaml::{Kind, NodeId, NodeRef, take_for_good};

use super::{Json, JsonNode};
use crate::budget::is_stopped;

/// How plain scalars are resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalars {
    /// As by go-yaml v3: `yes` is a string.
    Yaml12,
    /// As by go-yaml v2, which the decoders of Kubernetes use: `yes` is true.
    Yaml11,
}

/// A tree that JSON cannot represent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("json: unsupported type: map[interface {{}}]interface {{}}")]
    Key,
    #[error("json: unsupported value: {0}")]
    Number(&'static str),
    #[error("yaml: unknown anchor '{0}' referenced")]
    Anchor(String),
    #[error("yaml: document contains excessive aliasing")]
    TooLarge,
}

/// How many nodes aliases may add to the written ones.
const ALIASED_NODES: usize = 1 << 20;

/// The bytes of one of them, here and in the functions.
const ALIASED_NODE: usize = 128;

pub(crate) fn read(root: NodeRef<'_>, scalars: Scalars) -> Result<Json, JsonError> {
    let mut reader = JsonReader {
        nodes: vec![JsonNode::Null],
        open: vec![(root, 0)],
        scalars,
        aliases: None,
        through_aliases: 0,
    };
    while let Some((node, at)) = reader.open.pop() {
        if is_stopped() {
            break;
        }
        reader.read_node(node, at)?;
    }
    Ok(Json {
        nodes: reader.nodes,
    })
}

struct JsonReader<'a> {
    nodes: Vec<JsonNode>,
    /// Nodes to read, and their indices.
    open: Vec<(NodeRef<'a>, usize)>,
    scalars: Scalars,
    /// The targets of aliases; filled at the first alias.
    aliases: Option<HashMap<NodeId, NodeId>>,
    through_aliases: usize,
}

impl<'a> JsonReader<'a> {
    fn read_node(&mut self, node: NodeRef<'a>, at: usize) -> Result<(), JsonError> {
        let node = self.resolve(node)?;
        let value = match node.kind() {
            Kind::Mapping => JsonNode::Object(self.object(node)?),
            Kind::Sequence => JsonNode::Array(self.children(node.items())),
            _ => scalar(node, self.scalars)?,
        };
        if self.aliases.is_some() {
            self.through_aliases += 1;
            // An alias of a few bytes may refer to a long text, and to many fields.
            let text = match &value {
                JsonNode::String(text) => text.len(),
                JsonNode::Object(fields) => fields.iter().map(|(name, _)| name.len()).sum(),
                _ => 0,
            };
            if self.through_aliases > ALIASED_NODES || !take_for_good(ALIASED_NODE + text) {
                return Err(JsonError::TooLarge);
            }
        }
        if let Some(place) = self.nodes.get_mut(at) {
            *place = value;
        }
        Ok(())
    }

    fn children(&mut self, nodes: impl Iterator<Item = NodeRef<'a>>) -> Vec<usize> {
        nodes.map(|node| self.child(node)).collect()
    }

    fn child(&mut self, node: NodeRef<'a>) -> usize {
        let at = self.nodes.len();
        self.nodes.push(JsonNode::Null);
        self.open.push((node, at));
        at
    }

    fn object(&mut self, mapping: NodeRef<'a>) -> Result<Vec<(String, usize)>, JsonError> {
        let mut fields = Vec::with_capacity(mapping.len());
        let mut merged = Vec::new();
        for (key, value) in mapping.entries() {
            if key.tag() == "!!merge" {
                merged.push(value);
                continue;
            }
            let name = self.key(key)?;
            fields.push((name, self.child(value)));
        }
        if !merged.is_empty() {
            self.merge(merged, &mut fields)?;
        }
        Ok(fields)
    }

    /// Adds the fields of `<<`, unless they exist already.
    fn merge(
        &mut self,
        mut open: Vec<NodeRef<'a>>,
        fields: &mut Vec<(String, usize)>,
    ) -> Result<(), JsonError> {
        let mut known: HashSet<String> = fields.iter().map(|(name, _)| name.clone()).collect();
        open.reverse();
        while let Some(node) = open.pop() {
            self.through_aliases += 1;
            if self.through_aliases > ALIASED_NODES {
                return Err(JsonError::TooLarge);
            }
            let node = self.resolve(node)?;
            let mut inner: Vec<NodeRef<'a>> = node.items().collect();
            for (key, value) in node.entries() {
                if key.tag() == "!!merge" {
                    inner.push(value);
                    continue;
                }
                let name = self.key(key)?;
                if known.insert(name.clone()) {
                    fields.push((name, self.child(value)));
                }
            }
            inner.reverse();
            open.append(&mut inner);
        }
        Ok(())
    }

    fn key(&mut self, key: NodeRef<'a>) -> Result<String, JsonError> {
        let key = self.resolve(key)?;
        if self.aliases.is_some() && !take_for_good(key.value().len()) {
            return Err(JsonError::TooLarge);
        }
        if !key.is_scalar() {
            return Err(JsonError::Key);
        }
        match (self.scalars, scalar(key, self.scalars)?) {
            (_, JsonNode::String(text)) => Ok(text),
            (Scalars::Yaml12, _) => Err(JsonError::Key),
            // The decoders of Kubernetes convert such keys to strings.
            (Scalars::Yaml11, JsonNode::Bool(value)) => Ok(value.to_string()),
            (Scalars::Yaml11, JsonNode::Int(value)) => Ok(value.to_string()),
            (Scalars::Yaml11, JsonNode::Float(value)) => Ok(value.to_string()),
            (Scalars::Yaml11, _) => Ok("null".to_owned()),
        }
    }

    fn resolve(&mut self, node: NodeRef<'a>) -> Result<NodeRef<'a>, JsonError> {
        if node.kind() != Kind::Alias {
            return Ok(node);
        }
        let aliases = self
            .aliases
            .get_or_insert_with(|| node.document().alias_targets());
        match aliases.get(&node.id()) {
            Some(target) => Ok(node.document().node(*target)),
            None => Err(JsonError::Anchor(node.value().to_owned())),
        }
    }
}

fn scalar(node: NodeRef<'_>, scalars: Scalars) -> Result<JsonNode, JsonError> {
    let text = node.value();
    let is_plain = !node.style().is_quoted_or_block();
    let tag = match node.tag() {
        "!!str" if is_plain && scalars == Scalars::Yaml11 => yaml_1_1_tag(text),
        "!!timestamp" if scalars == Scalars::Yaml11 => "!!str",
        tag => tag,
    };
    Ok(match tag {
        "!!null" => JsonNode::Null,
        "!!bool" => JsonNode::Bool(is_true(text)),
        "!!int" => integer(text),
        "!!float" => float(text)?,
        "!!timestamp" => JsonNode::String(time(text)),
        _ => JsonNode::String(text.to_owned()),
    })
}

/// The tag that go-yaml v2 gives a plain text that is a string for v3.
fn yaml_1_1_tag(text: &str) -> &'static str {
    const BOOLS: &[&str] = &[
        "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
        "OFF",
    ];
    if BOOLS.contains(&text) {
        "!!bool"
    } else {
        "!!str"
    }
}

fn is_true(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b't' | b'T' | b'y' | b'Y'))
        || matches!(text, "on" | "On" | "ON")
}

fn integer(text: &str) -> JsonNode {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)),
        [b'0', _, ..] => (8, digits.get(1..)),
        _ => (10, Some(digits)),
    };
    let magnitude = digits.and_then(|digits| i128::from_str_radix(digits, radix).ok());
    let value = magnitude.map(|magnitude| magnitude * sign);
    match value.and_then(|value| i64::try_from(value).ok()) {
        Some(value) => JsonNode::Int(value),
        None => JsonNode::Float(plain.parse().unwrap_or_default()),
    }
}

fn float(text: &str) -> Result<JsonNode, JsonError> {
    let value = text.replace('_', "").parse::<f64>();
    match value {
        Ok(value) if value.is_finite() => Ok(JsonNode::Float(value)),
        _ if text.ends_with(['n', 'N']) => Err(JsonError::Number("NaN")),
        _ if text.starts_with('-') => Err(JsonError::Number("-Inf")),
        _ => Err(JsonError::Number("+Inf")),
    }
}

/// A time as Go writes it. Only dates change; the difference does not matter for times with an hour.
fn time(text: &str) -> String {
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [year, month, day] if day.len() <= 2 => format!("{year}-{month:0>2}-{day:0>2}T00:00:00Z"),
        _ => text.to_owned(),
    }
}
