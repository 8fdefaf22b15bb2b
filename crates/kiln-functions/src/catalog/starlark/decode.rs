//! Trees to values, by the rules of go-yaml v3 for what goes into an `interface{}`.

use std::collections::HashMap;
use std::rc::Rc;

use kiln_krm::Resource;
use kiln_krm::record::decode_base64;
use kiln_starlark::{BigInt, Dict, Failure, List, Usage, Value};
use kiln_yaml::{Document, Kind, NodeId, NodeRef};

use super::time::Time;
use crate::port::go_yaml::duplicate_keys;

/// How many nodes aliases may add to the written ones.
const ALIASED_NODES: usize = 1 << 20;

/// Bytes of a value in addition to its text.
const VALUE_BYTES: usize = 160;

/// For each decoded byte of input, a script may use that many bytes more than its limit: for the input itself, for a
/// changed copy, for the output as a tree and as text.
const BYTES_PER_INPUT_BYTE: usize = 8;

pub(super) enum DecodeFailure {
    /// A mapping has a duplicate key.
    DuplicateKey,
    /// A limit of the run, or an error of go-yaml.
    Failure(Failure),
}

impl From<Failure> for DecodeFailure {
    fn from(failure: Failure) -> DecodeFailure {
        DecodeFailure::Failure(failure)
    }
}

/// The resource list of a script.
pub(super) fn resource_list(
    usage: &Usage<'_>,
    api_version: &str,
    items: &[Resource],
    config: Option<&Document>,
) -> Result<Value, DecodeFailure> {
    let mut keys = Keys::default();
    let mut decode = |document| decode_with_keys(usage, document, scalar, &mut keys);
    let values = items.iter().map(|item| decode(item.document()));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let list = Dict::with_capacity(4);
    list.set_str("apiVersion", Value::string(api_version));
    list.set_str("kind", Value::string("ResourceList"));
    list.set_str("items", Value::list(values));
    if let Some(config) = config {
        list.set_str("functionConfig", decode(config)?);
    }
    Ok(Value::from(list))
}

/// The value of a document; `scalar` resolves its scalars.
pub(super) fn decode_with(
    usage: &Usage<'_>,
    document: &Document,
    scalar: fn(NodeRef<'_>) -> Value,
) -> Result<Value, DecodeFailure> {
    decode_with_keys(usage, document, scalar, &mut Keys::default())
}

/// Values of keys. Most resources have the same keys, and equal keys share a value.
#[derive(Default)]
struct Keys(HashMap<Box<[u8]>, Value>);

impl Keys {
    /// How many different keys are kept: labels and data may have as many as there are resources.
    const KEPT: usize = 1 << 10;

    fn shared(&mut self, key: Value) -> Value {
        let kiln_starlark::ValueKind::String(text) = key.kind() else {
            return key;
        };
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        if self.0.len() < Keys::KEPT {
            self.0.insert(text.into(), key.clone());
        }
        key
    }
}

fn decode_with_keys(
    usage: &Usage<'_>,
    document: &Document,
    scalar: fn(NodeRef<'_>) -> Value,
    keys: &mut Keys,
) -> Result<Value, DecodeFailure> {
    let mut decoder = ValueDecoder {
        usage,
        document,
        keys,
        scalar,
        aliases: None,
        aliased: 0,
        open: Vec::new(),
    };
    let value = decoder.begin(document.root())?;
    while let Some((node, container)) = decoder.open.pop() {
        match container {
            Container::Dict(dict) => decoder.fill_dict(node, &dict)?,
            Container::List(list) => {
                for item in node.items() {
                    let item = decoder.begin(item)?;
                    list.push(item);
                }
            }
        }
    }
    Ok(value)
}

/// A collection that is still to be filled.
enum Container {
    Dict(Rc<Dict>),
    List(Rc<List>),
}

struct ValueDecoder<'a> {
    usage: &'a Usage<'a>,
    document: &'a Document,
    keys: &'a mut Keys,
    scalar: fn(NodeRef<'_>) -> Value,
    /// The targets of aliases; filled at the first alias.
    aliases: Option<HashMap<NodeId, NodeId>>,
    aliased: usize,
    open: Vec<(NodeRef<'a>, Container)>,
}

impl<'a> ValueDecoder<'a> {
    /// The value of a node; collections are filled later.
    fn begin(&mut self, node: NodeRef<'a>) -> Result<Value, DecodeFailure> {
        let node = self.target(node)?;
        let bytes = node.value().len() + VALUE_BYTES;
        if self.aliases.is_some() {
            self.aliased += 1;
            if self.aliased > ALIASED_NODES {
                return Err(Failure::new("yaml: document contains excessive aliasing").into());
            }
        } else {
            self.usage.allow(bytes.saturating_mul(BYTES_PER_INPUT_BYTE));
        }
        self.usage.charge(1)?;
        self.usage.allocate(bytes)?;
        Ok(match node.kind() {
            Kind::Mapping => {
                let value = Value::from(Dict::with_capacity(node.len()));
                if let kiln_starlark::ValueKind::Dict(dict) = value.kind() {
                    self.open.push((node, Container::Dict(Rc::clone(dict))));
                }
                value
            }
            Kind::Sequence => {
                let value = Value::list(Vec::with_capacity(node.len()));
                if let kiln_starlark::ValueKind::List(list) = value.kind() {
                    self.open.push((node, Container::List(Rc::clone(list))));
                }
                value
            }
            Kind::Scalar | Kind::Alias => (self.scalar)(node),
        })
    }

    fn fill_dict(&mut self, node: NodeRef<'a>, dict: &Dict) -> Result<(), DecodeFailure> {
        let mut merged = Vec::new();
        let mut only_strings = true;
        let mut count = 0;
        for (key, value) in node.entries() {
            count += 1;
            if key.tag() == "!!merge" {
                merged.push(value);
                continue;
            }
            let key = self.begin(key)?;
            only_strings &= matches!(key.kind(), kiln_starlark::ValueKind::String(_));
            let key = self.keys.shared(key);
            let value = self.begin(value)?;
            dict.set(self.usage, key, value)?;
        }
        // Usually different keys have different texts.
        let may_be_ambiguous = !only_strings || dict.len() + merged.len() < count;
        if merged.len() > 1 || may_be_ambiguous && duplicate_keys::is_ambiguous(node) {
            return Err(DecodeFailure::DuplicateKey);
        }
        // Existing keys take precedence over merged ones.
        for source in merged {
            let source = self.target(source)?;
            let sources = match source.kind() {
                Kind::Sequence => source.items().collect(),
                _ => vec![source],
            };
            for source in sources {
                let source = self.target(source)?;
                for (key, value) in source.entries() {
                    if dict.get_str(key.value()).is_none() {
                        let key = self.begin(key)?;
                        let key = self.keys.shared(key);
                        let value = self.begin(value)?;
                        dict.set(self.usage, key, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn target(&mut self, node: NodeRef<'a>) -> Result<NodeRef<'a>, DecodeFailure> {
        if node.kind() != Kind::Alias {
            return Ok(node);
        }
        let document = self.document;
        let aliases = self.aliases.get_or_insert_with(|| document.alias_targets());
        match aliases.get(&node.id()) {
            Some(target) => Ok(document.node(*target)),
            None => {
                let message = format!("yaml: unknown anchor '{}' referenced", node.value());
                Err(Failure::new(message).into())
            }
        }
    }
}

fn scalar(node: NodeRef<'_>) -> Value {
    let text = node.value();
    match node.tag() {
        "!!null" => Value::NONE,
        "!!bool" => Value::from(text.eq_ignore_ascii_case("true")),
        "!!int" => int(text).unwrap_or_else(|| Value::string(text)),
        "!!float" => float(text).unwrap_or_else(|| Value::string(text)),
        "!!timestamp" => match Time::parse(text) {
            Some(time) => Value::object(Rc::new(time)),
            None => Value::string(text),
        },
        "!!binary" => match decode_base64(text) {
            Some(data) => Value::string(data),
            None => Value::string(text),
        },
        _ => Value::string(text),
    }
}

/// An integer in Go's notations.
pub(super) fn int(text: &str) -> Option<Value> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    let number = i128::from_str_radix(digits, radix).ok()?;
    Some(Value::from(BigInt::from(if negative {
        -number
    } else {
        number
    })))
}

pub(super) fn float(text: &str) -> Option<Value> {
    let number = match text {
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        _ => text.replace('_', "").parse().ok()?,
    };
    Some(Value::from(number))
}
