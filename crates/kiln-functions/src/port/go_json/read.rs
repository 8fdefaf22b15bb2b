//! YAML trees as JSON, by the rules of the library that the original reads them with.

use std::collections::{HashMap, HashSet};

use kiln_yaml::{Kind, NodeId, NodeRef, take_for_good};

use super::{Json, Node};
use crate::budget::is_stopped;

/// What plain scalars mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalars {
    /// As go-yaml v3 has it: `yes` is a string.
    Yaml12,
    /// As go-yaml v2 has it, which Kubernetes' own decoders use: `yes` is true.
    Yaml11,
}

/// A tree that has no form in JSON.
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

/// How many nodes aliases may add to those that are written.
const ALIASED_NODES: usize = 1 << 20;

/// What one of them takes, here and in what functions make of it.
const ALIASED_NODE: usize = 128;

/// The value of a tree.
pub(crate) fn read(root: NodeRef<'_>, scalars: Scalars) -> Result<Json, JsonError> {
    let mut reader = Reader {
        nodes: vec![Node::Null],
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

struct Reader<'a> {
    nodes: Vec<Node>,
    /// What is still to be read, and its place.
    open: Vec<(NodeRef<'a>, usize)>,
    scalars: Scalars,
    /// What aliases stand for; filled when the first is met.
    aliases: Option<HashMap<NodeId, NodeId>>,
    through_aliases: usize,
}

impl<'a> Reader<'a> {
    fn read_node(&mut self, node: NodeRef<'a>, at: usize) -> Result<(), JsonError> {
        let node = self.resolve(node)?;
        let value = match node.kind() {
            Kind::Mapping => Node::Object(self.object(node)?),
            Kind::Sequence => Node::Array(self.children(node.items())),
            _ => scalar(node, self.scalars)?,
        };
        if self.aliases.is_some() {
            self.through_aliases += 1;
            // An alias of a few bytes may stand for a long text, and for many fields.
            let text = match &value {
                Node::String(text) => text.len(),
                Node::Object(fields) => fields.iter().map(|(name, _)| name.len()).sum(),
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
        self.nodes.push(Node::Null);
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

    /// Adds the fields that `<<` brings, unless they are there already.
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
            (_, Node::String(text)) => Ok(text),
            (Scalars::Yaml12, _) => Err(JsonError::Key),
            // Kubernetes' decoders turn such keys into text.
            (Scalars::Yaml11, Node::Bool(value)) => Ok(value.to_string()),
            (Scalars::Yaml11, Node::Int(value)) => Ok(value.to_string()),
            (Scalars::Yaml11, Node::Float(value)) => Ok(value.to_string()),
            (Scalars::Yaml11, _) => Ok("null".to_owned()),
        }
    }

    fn resolve(&mut self, node: NodeRef<'a>) -> Result<NodeRef<'a>, JsonError> {
        if node.kind() != Kind::Alias {
            return Ok(node);
        }
        let aliases = self
            .aliases
            .get_or_insert_with(|| alias_targets(node.document().root()));
        match aliases.get(&node.id()) {
            Some(target) => Ok(node.document().node(*target)),
            None => Err(JsonError::Anchor(node.value().to_owned())),
        }
    }
}

/// For each alias the last node before it that has its name as an anchor.
fn alias_targets(root: NodeRef<'_>) -> HashMap<NodeId, NodeId> {
    let mut anchors = HashMap::new();
    let mut targets = HashMap::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if node.kind() == Kind::Alias {
            if let Some(target) = anchors.get(node.value()) {
                targets.insert(node.id(), *target);
            }
        } else if !node.anchor().is_empty() {
            anchors.insert(node.anchor(), node.id());
        }
        let children: Vec<NodeRef<'_>> = node.children().collect();
        open.extend(children.into_iter().rev());
    }
    targets
}

fn scalar(node: NodeRef<'_>, scalars: Scalars) -> Result<Node, JsonError> {
    let text = node.value();
    let is_plain = !node.style().is_quoted_or_block();
    let tag = match node.tag() {
        "!!str" if is_plain && scalars == Scalars::Yaml11 => yaml_1_1_tag(text),
        "!!timestamp" if scalars == Scalars::Yaml11 => "!!str",
        tag => tag,
    };
    Ok(match tag {
        "!!null" => Node::Null,
        "!!bool" => Node::Bool(is_true(text)),
        "!!int" => integer(text),
        "!!float" => float(text)?,
        "!!timestamp" => Node::String(time(text)),
        _ => Node::String(text.to_owned()),
    })
}

/// What go-yaml v2 takes a plain text for that v3 takes for a string.
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

fn integer(text: &str) -> Node {
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
        Some(value) => Node::Int(value),
        None => Node::Float(plain.parse().unwrap_or_default()),
    }
}

fn float(text: &str) -> Result<Node, JsonError> {
    let value = text.replace('_', "").parse::<f64>();
    match value {
        Ok(value) if value.is_finite() => Ok(Node::Float(value)),
        _ if text.ends_with(['n', 'N']) => Err(JsonError::Number("NaN")),
        _ if text.starts_with('-') => Err(JsonError::Number("-Inf")),
        _ => Err(JsonError::Number("+Inf")),
    }
}

/// A time as Go writes it. Only dates change; what has an hour is close enough for anything that looks at it here.
fn time(text: &str) -> String {
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [year, month, day] if day.len() <= 2 => format!("{year}-{month:0>2}-{day:0>2}T00:00:00Z"),
        _ => text.to_owned(),
    }
}
