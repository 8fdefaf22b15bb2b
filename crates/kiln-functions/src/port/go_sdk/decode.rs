//! Checks a tree against a typed configuration, with the errors of Go's JSON decoder.

use kiln_yaml::{Kind, NodeRef};

/// A Go struct, as far as decoding it can fail.
pub struct StructType {
    /// Its name in Go.
    pub name: &'static str,
    /// The fields by their names in JSON. Other fields are ignored.
    pub fields: &'static [(&'static str, FieldType)],
}

/// The type of a field.
pub enum FieldType {
    /// `string`
    Text,
    /// `bool`
    Bool,
    /// `map[string]string`
    TextMap,
    /// A struct, or a pointer to one.
    Struct(&'static StructType),
    /// `[]T`
    List(&'static FieldType),
}

/// The metadata of Kubernetes objects.
pub(crate) static OBJECT_META: StructType = StructType {
    name: "ObjectMeta",
    fields: &[
        ("name", FieldType::Text),
        ("namespace", FieldType::Text),
        ("labels", FieldType::TextMap),
        ("annotations", FieldType::TextMap),
    ],
};

/// Checks a mapping. The error is about the first invalid field, in the order of keys.
pub fn check_struct(node: NodeRef<'_>, expected: &StructType) -> Result<(), String> {
    let checker = Checker {
        struct_name: expected.name,
        path: String::new(),
    };
    checker.check_fields(node, expected)
}

/// The current position in the tree. Types nest as deep as their declarations, so that the program limits recursion.
struct Checker {
    struct_name: &'static str,
    path: String,
}

impl Checker {
    fn check_fields(&self, node: NodeRef<'_>, expected: &StructType) -> Result<(), String> {
        let mut entries: Vec<_> = node.entries().collect();
        entries.sort_by_key(|(key, _)| key.value());
        for (key, value) in entries {
            let is_field = |(name, _): &&(&str, FieldType)| name.eq_ignore_ascii_case(key.value());
            let Some((name, field)) = expected.fields.iter().find(is_field) else {
                continue;
            };
            let path = match self.path.as_str() {
                "" => (*name).to_owned(),
                path => format!("{path}.{name}"),
            };
            let inner = Checker {
                struct_name: expected.name,
                path,
            };
            inner.check(value, field)?;
        }
        Ok(())
    }

    fn check(&self, node: NodeRef<'_>, expected: &FieldType) -> Result<(), String> {
        let json = json_type(node);
        match (expected, json) {
            (_, "null") | (FieldType::Text, "string") | (FieldType::Bool, "bool") => Ok(()),
            (FieldType::TextMap, "object") => {
                let mut entries: Vec<_> = node.entries().collect();
                entries.sort_by_key(|(key, _)| key.value());
                let mut values = entries.into_iter().map(|(_, value)| value);
                values.try_for_each(|value| self.check(value, &FieldType::Text))
            }
            (FieldType::Struct(expected), "object") => self.check_fields(node, expected),
            (FieldType::List(expected), "array") => {
                let mut items = node.items();
                items.try_for_each(|item| self.check(item, expected))
            }
            (expected, json) => Err(format!(
                "json: cannot unmarshal {json} into Go struct field {}.{} of type {}",
                self.struct_name,
                self.path,
                go_type(expected)
            )),
        }
    }
}

fn go_type(field: &FieldType) -> String {
    match field {
        FieldType::Text => "string".to_owned(),
        FieldType::Bool => "bool".to_owned(),
        FieldType::TextMap => "map[string]string".to_owned(),
        FieldType::Struct(expected) => expected.name.to_owned(),
        FieldType::List(item) => format!("[]{}", go_type(item)),
    }
}

/// The JSON type of a node, in the words of Go's decoder.
fn json_type(node: NodeRef<'_>) -> &'static str {
    match (node.kind(), node.tag()) {
        (Kind::Mapping, _) => "object",
        (Kind::Sequence, _) => "array",
        (_, "!!null") => "null",
        (_, "!!bool") => "bool",
        (_, "!!int" | "!!float") => "number",
        _ => "string",
    }
}
