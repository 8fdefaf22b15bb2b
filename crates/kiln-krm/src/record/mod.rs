//! Typed records on the tree: reading as strictly, with the same messages, and writing in the same words as the Go
//! structs of the original.
//!
//! [`records!`](crate::records) declares a struct once, field by field in the order of serialisation; reading and
//! writing follow from it. Unknown keys are errors or ignored, as the reader is configured. This is not a general
//! serialiser: it knows the few types that the vocabulary and the functions need.

mod misfit;
mod node;
mod order;
mod reader;
mod text;

use std::collections::BTreeMap;

use kiln_yaml::{Document, Kind, NodeId, NodeRef};

pub use misfit::MisfitProblem;
pub(crate) use node::{allowed_alias_share, explicit_tag_lie, is_merge_key, line};
pub use reader::{DecodeError, Fatal, Misfit, Reader, UnknownKeys, read_record};
pub use text::decode_base64;
pub(crate) use text::new_text;
pub use text::{is_base_60, is_old_bool};

/// A type that can be read off a tree and written as one.
pub trait Value: Default {
    /// Whether the type reads any node that is not null in its own way, so that nothing is checked before.
    const READS_ANYTHING: bool = false;

    /// What Go calls the type, for messages.
    fn type_name() -> String;

    /// Reads a node that is neither an alias nor null; false if it does not fit, which has then been reported.
    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal>;

    /// Takes over a null; false if the type has no such value and stays as it is.
    fn read_null(&mut self) -> bool {
        false
    }

    /// Writes the value as a node that is not yet part of the document's tree.
    fn write(&self, doc: &mut Document) -> NodeId;

    /// Whether the value is left out where only what is given is written.
    fn is_zero(&self) -> bool;
}

impl Value for String {
    fn type_name() -> String {
        "string".to_owned()
    }

    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal> {
        if !node.is_scalar() {
            return reader.misfit(node, type_name);
        }
        *self = match node.tag() {
            "!!binary" => text::decode_base64(node.value()).unwrap_or_default(),
            _ => node.value().to_owned(),
        };
        Ok(true)
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        new_text(doc, self)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl Value for i64 {
    fn type_name() -> String {
        "int".to_owned()
    }

    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal> {
        match text::integer(node) {
            Some(number) => {
                *self = number;
                Ok(true)
            }
            None => reader.misfit(node, type_name),
        }
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        doc.new_scalar(&self.to_string(), "!!int")
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }
}

impl Value for bool {
    fn type_name() -> String {
        "bool".to_owned()
    }

    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal> {
        *self = match (node.tag(), node.value()) {
            ("!!bool", text) => text.eq_ignore_ascii_case("true"),
            // Words of YAML 1.1 that are only texts otherwise; not all of them.
            ("!!str", "y" | "Y" | "yes" | "on") => true,
            ("!!str", "n" | "N" | "no" | "off") => false,
            _ => return reader.misfit(node, type_name),
        };
        Ok(true)
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        doc.new_scalar(&self.to_string(), "!!bool")
    }

    fn is_zero(&self) -> bool {
        !*self
    }
}

impl<V: Value> Value for Option<V> {
    const READS_ANYTHING: bool = V::READS_ANYTHING;

    fn type_name() -> String {
        V::type_name()
    }

    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal> {
        // A collection whose tag says null is neither.
        if node.tag() == "!!null" {
            return reader.misfit(node, &format!("*{type_name}"));
        }
        self.get_or_insert_default().read(node, type_name, reader)
    }

    fn read_null(&mut self) -> bool {
        *self = None;
        true
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        match self {
            Some(value) => value.write(doc),
            None => doc.new_scalar("null", "!!null"),
        }
    }

    fn is_zero(&self) -> bool {
        self.is_none()
    }
}

impl<V: Value> Value for Vec<V> {
    fn type_name() -> String {
        format!("[]{}", V::type_name())
    }

    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal> {
        if !node.is_sequence() {
            return reader.misfit(node, type_name);
        }
        self.clear();
        for item in node.items() {
            let mut value = V::default();
            // What does not fit, null included, is left out.
            if reader.read(item, &mut value)? {
                self.push(value);
            }
        }
        Ok(true)
    }

    fn read_null(&mut self) -> bool {
        self.clear();
        true
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        let sequence = doc.new_sequence_node();
        for value in self {
            let item = value.write(doc);
            doc.push_item(sequence, item);
        }
        sequence
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl Value for BTreeMap<String, String> {
    fn type_name() -> String {
        "map[string]string".to_owned()
    }

    fn read(
        &mut self,
        node: NodeRef<'_>,
        type_name: &str,
        reader: &mut Reader<'_>,
    ) -> Result<bool, Fatal> {
        if node.kind() != Kind::Mapping {
            return reader.misfit(node, type_name);
        }
        reader.read_map(node, self)?;
        Ok(true)
    }

    fn read_null(&mut self) -> bool {
        self.clear();
        true
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        let mapping = doc.new_mapping_node();
        let mut pairs: Vec<(&String, &String)> = self.iter().collect();
        order::sort(&mut pairs, |left, right| order::is_before(left.0, right.0));
        for (key, value) in pairs {
            let (key, value) = (new_text(doc, key), new_text(doc, value));
            doc.push_entry(mapping, key, value);
        }
        mapping
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

/// Declares records: structs that are read and written field by field.
///
/// A field is `name: Type = "key"`, with `("go.Type")` behind it where Go gives a text a name of its own, and
/// `[always]` where it is written even when empty.
#[macro_export]
macro_rules! records {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $go_name:literal {
            $(
                $(#[$field_meta:meta])*
                $field:ident: $type:ty = $key:literal $(($go_type:literal))? $([$always:ident])?,
            )*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        $vis struct $name {
            $(
                $(#[$field_meta])*
                $vis $field: $type,
            )*
        }

        impl $crate::record::Value for $name {
            fn type_name() -> String {
                $go_name.to_owned()
            }

            fn read(
                &mut self,
                node: kiln_yaml::NodeRef<'_>,
                type_name: &str,
                reader: &mut $crate::record::Reader<'_>,
            ) -> Result<bool, $crate::record::Fatal> {
                const KNOWN: &[&str] = &[$($key),*];
                $crate::record::read_record(node, type_name, KNOWN, reader, |key, value, reader| {
                    Ok(match key {
                        $($key => {
                            let type_name = None$(.or(Some($go_type)))?;
                            reader.read_named(value, &mut self.$field, type_name)?;
                            Some($key)
                        })*
                        _ => None,
                    })
                })
            }

            fn write(&self, doc: &mut kiln_yaml::Document) -> kiln_yaml::NodeId {
                let mapping = doc.new_mapping_node();
                $(
                    let is_always_written = None::<&str>$(.or(Some(stringify!($always))))?.is_some();
                    if is_always_written || !$crate::record::Value::is_zero(&self.$field) {
                        let key = doc.new_string($key);
                        let value = $crate::record::Value::write(&self.$field, doc);
                        doc.push_entry(mapping, key, value);
                    }
                )*
                mapping
            }

            fn is_zero(&self) -> bool {
                *self == <$name>::default()
            }
        }
    )*};
}
pub use records;

/// A document that holds a record and nothing else.
pub fn to_document(record: &impl Value) -> Document {
    let mut doc = Document::new_mapping();
    let root = record.write(&mut doc);
    doc.set_root(root);
    doc
}

/// What a node holds as a record, if it is one; unknown keys are ignored.
pub(crate) fn read_node<V: Value>(doc: &Document, node: NodeId) -> Option<V> {
    Reader::node(doc, node, UnknownKeys::Ignore).ok()
}

#[cfg(test)]
mod tests;
