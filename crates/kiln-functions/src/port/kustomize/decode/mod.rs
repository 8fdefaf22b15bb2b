//! Typed configuration: a tree read into the types that Go declares for it, with the complaint of Go's JSON decoder
//! where it does not fit.
//!
//! Types nest only as deep as their declarations, so recursion is bounded by the program. Fields that no type declares
//! are not looked at.

mod scalar;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use value::Value;

use kiln_yaml::{Document, Kind, NodeRef};
use scalar::Scalar;

use super::aliases::Aliases;

/// What Go declares for a value.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// `string`
    Text,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `map[string]string`
    TextMap,
    /// A struct.
    Struct(&'static StructShape),
    /// A pointer to a struct.
    Pointer(&'static StructShape),
    /// `[]T`
    List(&'static Shape),
    /// A list with a type name of its own.
    NamedList(&'static str, &'static Shape),
}

/// A struct.
pub(crate) struct StructShape {
    /// Its name alone.
    pub(crate) name: &'static str,
    /// Its name with its package.
    pub(crate) go_type: &'static str,
    /// The fields by their names in JSON.
    pub(crate) fields: &'static [FieldShape],
}

/// A field of a struct.
pub(crate) struct FieldShape {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// The struct inside of the struct that declares it.
    pub(crate) embedded_in: Option<&'static str>,
    /// Its type.
    pub(crate) shape: Shape,
}

/// Who reads the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    /// Kubernetes' own YAML library: plain words as in YAML 1.1, and numbers are texts where texts are wanted.
    Kubernetes,
    /// The SDK by way of JSON: nothing is anything else.
    Json,
}

/// A configuration that is not of its type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "json: cannot unmarshal {found} into Go struct field {struct_name}.{path} of type {expected}"
)]
pub(crate) struct DecodeError {
    found: String,
    struct_name: &'static str,
    path: String,
    expected: String,
}

impl FieldShape {
    /// A field of its own.
    pub(crate) const fn new(name: &'static str, shape: Shape) -> FieldShape {
        FieldShape {
            name,
            embedded_in: None,
            shape,
        }
    }
}

/// Reads a document. What is given of the struct's fields is in the value; of several complaints it is the first.
pub(crate) fn decode(
    document: &Document,
    shape: &'static StructShape,
    reader: Reader,
) -> Result<Value, DecodeError> {
    let mut decoder = Decoder {
        reader,
        aliases: Aliases::default(),
        path: Vec::new(),
        struct_name: shape.name,
    };
    let root = decoder.target(document.root());
    decoder.fields(root, shape)
}

struct Decoder {
    reader: Reader,
    aliases: Aliases,
    path: Vec<&'static str>,
    struct_name: &'static str,
}

impl Decoder {
    fn fields(
        &mut self,
        node: NodeRef<'_>,
        shape: &'static StructShape,
    ) -> Result<Value, DecodeError> {
        let outer = self.struct_name;
        let mut fields = Vec::new();
        for (key, value) in self.entries(node) {
            let exact = shape.fields.iter().find(|field| field.name == key);
            let alike = |field: &&FieldShape| field.name.eq_ignore_ascii_case(&key);
            let Some(field) = exact.or_else(|| shape.fields.iter().find(alike)) else {
                continue;
            };
            let depth = self.path.len();
            self.struct_name = shape.name;
            self.path.extend(field.embedded_in);
            self.path.push(field.name);
            let is_coerced = self.reader == Reader::Kubernetes && field.embedded_in.is_none();
            let value = self.value(value, &field.shape, is_coerced)?;
            self.path.truncate(depth);
            fields.push((field.name, value));
        }
        self.struct_name = outer;
        Ok(Value::Struct(fields))
    }

    fn value(
        &mut self,
        node: NodeRef<'_>,
        shape: &'static Shape,
        is_coerced: bool,
    ) -> Result<Value, DecodeError> {
        let node = self.target(node);
        match (shape, node.kind()) {
            (Shape::Struct(shape) | Shape::Pointer(shape), Kind::Mapping) => {
                return self.fields(node, shape);
            }
            (Shape::List(item) | Shape::NamedList(_, item), Kind::Sequence) => {
                let is_coerced = self.reader == Reader::Kubernetes;
                let items = node.items().map(|node| self.value(node, item, is_coerced));
                return items.collect::<Result<_, _>>().map(Value::List);
            }
            (Shape::TextMap, Kind::Mapping) => {
                let mut map = std::collections::BTreeMap::new();
                for (key, value) in self.entries(node) {
                    let is_coerced = self.reader == Reader::Kubernetes;
                    let value = self.value(value, &Shape::Text, is_coerced)?;
                    map.insert(key, value.into_text());
                }
                return Ok(Value::Map(map));
            }
            _ => {}
        }
        let found = match node.kind() {
            Kind::Mapping => "object".to_owned(),
            Kind::Sequence => "array".to_owned(),
            Kind::Scalar | Kind::Alias => {
                let scalar = Scalar::read(node, self.reader);
                match (shape, scalar) {
                    (_, Scalar::Null) => return Ok(Value::Null),
                    (Shape::Text, Scalar::Text(text)) => return Ok(Value::Text(text)),
                    (Shape::Text, scalar) if is_coerced => return Ok(Value::Text(scalar.text())),
                    (Shape::Bool, Scalar::Bool(flag)) => return Ok(Value::Bool(flag)),
                    (Shape::Int, Scalar::Int(number)) if i64::try_from(number).is_ok() => {
                        return Ok(Value::Int(i64::try_from(number).unwrap_or_default()));
                    }
                    (Shape::Int, Scalar::Int(number)) => format!("number {number}"),
                    (Shape::Int, Scalar::Float(number)) => {
                        format!("number {}", super::number::shortest(number))
                    }
                    (_, Scalar::Text(_)) => "string".to_owned(),
                    (_, Scalar::Bool(_)) => "bool".to_owned(),
                    (_, Scalar::Int(_) | Scalar::Float(_)) => "number".to_owned(),
                }
            }
        };
        Err(DecodeError {
            found,
            struct_name: self.struct_name,
            path: self.path.join("."),
            expected: go_type(shape),
        })
    }

    /// A mapping's pairs with the keys as texts, sorted; of a key given twice the last one. What is merged in counts
    /// for less than what is there.
    fn entries<'a>(&mut self, node: NodeRef<'a>) -> Vec<(String, NodeRef<'a>)> {
        let mut entries = std::collections::BTreeMap::new();
        let is_merge = |key: &NodeRef<'_>| key.tag() == "!!merge";
        for (_, merged) in node.entries().filter(|(key, _)| is_merge(key)) {
            let merged = self.target(merged);
            let sources = match merged.kind() {
                Kind::Sequence => merged.items().map(|item| self.target(item)).collect(),
                _ => vec![merged],
            };
            for source in sources.into_iter().rev() {
                let pairs = source.entries();
                entries.extend(pairs.map(|(key, value)| (self.key(key), value)));
            }
        }
        let own = node.entries().filter(|(key, _)| !is_merge(key));
        for (key, value) in own {
            entries.insert(self.key(key), value);
        }
        entries.into_iter().collect()
    }

    fn key(&self, key: NodeRef<'_>) -> String {
        match self.reader {
            Reader::Kubernetes => Scalar::read(key, self.reader).text(),
            Reader::Json => key.value().to_owned(),
        }
    }

    fn target<'a>(&mut self, node: NodeRef<'a>) -> NodeRef<'a> {
        if node.kind() != Kind::Alias {
            return node;
        }
        let document = node.document();
        let target = self.aliases.target(document, node.id());
        let target = target.map(|target| document.node(target));
        // An alias of a few bytes may stand for a long text.
        match target.filter(|target| kiln_yaml::take_for_good(size(*target))) {
            Some(target) => target,
            None => node,
        }
    }
}

/// About how many bytes a tree takes when it is read.
fn size(node: NodeRef<'_>) -> usize {
    let mut bytes = 0;
    node.visit(|visit| bytes += size_of::<Value>() + visit.node.value().len());
    bytes
}

fn go_type(shape: &Shape) -> String {
    match shape {
        Shape::Text => "string".to_owned(),
        Shape::NamedList(name, _) => (*name).to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Int => "int".to_owned(),
        Shape::TextMap => "map[string]string".to_owned(),
        Shape::Struct(shape) | Shape::Pointer(shape) => shape.go_type.to_owned(),
        Shape::List(Shape::Pointer(item)) => format!("[]*{}", item.go_type),
        Shape::List(item) => format!("[]{}", go_type(item)),
    }
}
