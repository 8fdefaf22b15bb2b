//! Typed configuration: a tree decoded into the types that Go declares for it, with the errors of Go's JSON decoder.
//!
//! Types nest only as deep as their declarations, so the program limits recursion. Undeclared fields are ignored.

mod scalar;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use value::ConfigValue;

use kiln_yaml::{Document, Kind, NodeRef};
use scalar::DecodedScalar;

use super::aliases::Aliases;

/// The type that Go declares for a value.
#[derive(Clone, Copy)]
pub(crate) enum ConfigShape {
    /// `string`
    Text,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `map[string]string`
    TextMap,
    Struct(&'static StructShape),
    /// A pointer to a struct.
    Pointer(&'static StructShape),
    /// `[]T`
    List(&'static ConfigShape),
    /// A list with its own type name.
    NamedList(&'static str, &'static ConfigShape),
}

pub(crate) struct StructShape {
    /// The name with its package.
    pub(crate) go_type: &'static str,
    /// The fields by their names in JSON.
    pub(crate) fields: &'static [FieldShape],
}

pub(crate) struct FieldShape {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// The embedded struct that declares it.
    pub(crate) embedded_in: Option<&'static str>,
    pub(crate) shape: ConfigShape,
}

/// The library that reads the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum YamlReader {
    /// sigs.k8s.io/yaml: plain scalars as in YAML 1.1, and numbers where strings are declared become strings.
    Kubernetes,
    /// The SDK by way of JSON: no conversions.
    Json,
}

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

impl StructShape {
    /// The name without its package.
    fn name(&self) -> &'static str {
        self.go_type.rsplit('.').next().unwrap_or(self.go_type)
    }
}

impl FieldShape {
    /// A field that the struct itself declares.
    pub(crate) const fn new(name: &'static str, shape: ConfigShape) -> FieldShape {
        FieldShape {
            name,
            embedded_in: None,
            shape,
        }
    }
}

/// Decodes a document. The value contains the given fields of the struct; of several errors the first is returned.
pub(crate) fn decode(
    document: &Document,
    shape: &'static StructShape,
    reader: YamlReader,
) -> Result<ConfigValue, DecodeError> {
    let mut decoder = ConfigDecoder {
        reader,
        aliases: Aliases::default(),
        path: Vec::new(),
        struct_name: shape.name(),
    };
    let root = decoder.target(document.root());
    decoder.fields(root, shape)
}

struct ConfigDecoder {
    reader: YamlReader,
    aliases: Aliases,
    path: Vec<&'static str>,
    struct_name: &'static str,
}

impl ConfigDecoder {
    fn fields(
        &mut self,
        node: NodeRef<'_>,
        shape: &'static StructShape,
    ) -> Result<ConfigValue, DecodeError> {
        let outer = self.struct_name;
        let mut fields = Vec::new();
        for (key, value) in self.entries(node) {
            let exact = shape.fields.iter().find(|field| field.name == key);
            let alike = |field: &&FieldShape| field.name.eq_ignore_ascii_case(&key);
            let Some(field) = exact.or_else(|| shape.fields.iter().find(alike)) else {
                continue;
            };
            let depth = self.path.len();
            self.struct_name = shape.name();
            self.path.extend(field.embedded_in);
            self.path.push(field.name);
            let is_coerced = self.reader == YamlReader::Kubernetes && field.embedded_in.is_none();
            let value = self.value(value, &field.shape, is_coerced)?;
            self.path.truncate(depth);
            fields.push((field.name, value));
        }
        self.struct_name = outer;
        Ok(ConfigValue::Struct(fields))
    }

    fn value(
        &mut self,
        node: NodeRef<'_>,
        shape: &'static ConfigShape,
        is_coerced: bool,
    ) -> Result<ConfigValue, DecodeError> {
        let node = self.target(node);
        match (shape, node.kind()) {
            (ConfigShape::Struct(shape) | ConfigShape::Pointer(shape), Kind::Mapping) => {
                return self.fields(node, shape);
            }
            (ConfigShape::List(item) | ConfigShape::NamedList(_, item), Kind::Sequence) => {
                let is_coerced = self.reader == YamlReader::Kubernetes;
                let items = node.items().map(|node| self.value(node, item, is_coerced));
                return items.collect::<Result<_, _>>().map(ConfigValue::List);
            }
            (ConfigShape::TextMap, Kind::Mapping) => {
                let mut map = std::collections::BTreeMap::new();
                for (key, value) in self.entries(node) {
                    let is_coerced = self.reader == YamlReader::Kubernetes;
                    let value = self.value(value, &ConfigShape::Text, is_coerced)?;
                    map.insert(key, value.into_text());
                }
                return Ok(ConfigValue::Map(map));
            }
            _ => {}
        }
        let found = match node.kind() {
            Kind::Mapping => "object".to_owned(),
            Kind::Sequence => "array".to_owned(),
            Kind::Scalar | Kind::Alias => {
                let scalar = DecodedScalar::read(node, self.reader);
                match (shape, scalar) {
                    (_, DecodedScalar::Null) => return Ok(ConfigValue::Null),
                    (ConfigShape::Text, DecodedScalar::Text(text)) => {
                        return Ok(ConfigValue::Text(text));
                    }
                    (ConfigShape::Text, scalar) if is_coerced => {
                        return Ok(ConfigValue::Text(scalar.text()));
                    }
                    (ConfigShape::Bool, DecodedScalar::Bool(flag)) => {
                        return Ok(ConfigValue::Bool(flag));
                    }
                    (ConfigShape::Int, DecodedScalar::Int(number))
                        if i64::try_from(number).is_ok() =>
                    {
                        return Ok(ConfigValue::Int(i64::try_from(number).unwrap_or_default()));
                    }
                    (ConfigShape::Int, DecodedScalar::Int(number)) => format!("number {number}"),
                    (ConfigShape::Int, DecodedScalar::Float(number)) => {
                        format!("number {}", super::number::shortest(number))
                    }
                    (_, DecodedScalar::Text(_)) => "string".to_owned(),
                    (_, DecodedScalar::Bool(_)) => "bool".to_owned(),
                    (_, DecodedScalar::Int(_) | DecodedScalar::Float(_)) => "number".to_owned(),
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

    /// The pairs of a mapping with the keys as text, sorted; of duplicate keys the last counts. Merged keys do not
    /// replace existing ones.
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
            YamlReader::Kubernetes => DecodedScalar::read(key, self.reader).text(),
            YamlReader::Json => key.value().to_owned(),
        }
    }

    fn target<'a>(&mut self, node: NodeRef<'a>) -> NodeRef<'a> {
        if node.kind() != Kind::Alias {
            return node;
        }
        let document = node.document();
        let target = self.aliases.target(document, node.id());
        let target = target.map(|target| document.node(target));
        // An alias of a few bytes may refer to a long text.
        match target.filter(|target| kiln_yaml::take_for_good(size(*target))) {
            Some(target) => target,
            None => node,
        }
    }
}

/// The approximate bytes of a decoded tree.
fn size(node: NodeRef<'_>) -> usize {
    let mut bytes = 0;
    node.visit(|visit| bytes += size_of::<ConfigValue>() + visit.node.value().len());
    bytes
}

fn go_type(shape: &ConfigShape) -> String {
    match shape {
        ConfigShape::Text => "string".to_owned(),
        ConfigShape::NamedList(name, _) => (*name).to_owned(),
        ConfigShape::Bool => "bool".to_owned(),
        ConfigShape::Int => "int".to_owned(),
        ConfigShape::TextMap => "map[string]string".to_owned(),
        ConfigShape::Struct(shape) | ConfigShape::Pointer(shape) => shape.go_type.to_owned(),
        ConfigShape::List(ConfigShape::Pointer(item)) => format!("[]*{}", item.go_type),
        ConfigShape::List(item) => format!("[]{}", go_type(item)),
    }
}
