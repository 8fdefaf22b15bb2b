//! Resources as JSON: the values that Go functions get from `yaml.Unmarshal` into maps.
//!
//! A [`Json`] is one flat list of nodes, so that neither building nor dropping it needs a stack as deep as the value.
//! Fields keep their order. It is read-only: functions that change resources work on trees.

mod read;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use read::{JsonError, Scalars, read};

#[derive(Clone, Debug)]
pub(crate) struct Json {
    nodes: Vec<JsonNode>,
}

/// A value, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonRef<'a> {
    json: &'a Json,
    at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JsonContent<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(&'a str),
    Array,
    Object,
}

#[derive(Clone, Debug)]
enum JsonNode {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Array(Vec<usize>),
    Object(Vec<(String, usize)>),
}

impl Json {
    /// The part at an index from [`JsonRef::place`].
    pub(crate) fn part(&self, place: usize) -> JsonRef<'_> {
        JsonRef {
            json: self,
            at: place,
        }
    }

    pub(crate) fn string(text: &str) -> Json {
        Json {
            nodes: vec![JsonNode::String(text.to_owned())],
        }
    }

    pub(crate) fn root(&self) -> JsonRef<'_> {
        JsonRef { json: self, at: 0 }
    }
}

impl<'a> JsonRef<'a> {
    pub(crate) fn content(self) -> JsonContent<'a> {
        match self.node() {
            JsonNode::Null => JsonContent::Null,
            JsonNode::Bool(value) => JsonContent::Bool(*value),
            JsonNode::Int(value) => JsonContent::Int(*value),
            JsonNode::Float(value) => JsonContent::Float(*value),
            JsonNode::String(text) => JsonContent::String(text),
            JsonNode::Array(_) => JsonContent::Array,
            JsonNode::Object(_) => JsonContent::Object,
        }
    }

    /// The items of an array; empty for other values.
    pub(crate) fn items(self) -> impl ExactSizeIterator<Item = JsonRef<'a>> {
        let items: &[usize] = match self.node() {
            JsonNode::Array(items) => items,
            _ => &[],
        };
        items.iter().map(move |at| self.at(*at))
    }

    /// The fields of an object; empty for other values.
    pub(crate) fn fields(self) -> impl ExactSizeIterator<Item = (&'a str, JsonRef<'a>)> {
        let fields: &[(String, usize)] = match self.node() {
            JsonNode::Object(fields) => fields,
            _ => &[],
        };
        fields
            .iter()
            .map(move |(name, at)| (name.as_str(), self.at(*at)))
    }

    /// A field of an object.
    pub(crate) fn get(self, name: &str) -> Option<JsonRef<'a>> {
        let mut fields = self.fields();
        fields
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value)
    }

    /// A field of a field.
    pub(crate) fn get_path(self, path: &[&str]) -> Option<JsonRef<'a>> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    pub(crate) fn as_str(self) -> Option<&'a str> {
        match self.node() {
            JsonNode::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self.node(), JsonNode::Object(_))
    }

    /// The index of the value in its [`Json`].
    pub(crate) fn place(self) -> usize {
        self.at
    }

    /// A copy of the value.
    pub(crate) fn to_json(self) -> Json {
        let mut nodes = vec![JsonNode::Null];
        let mut open = vec![(self, 0)];
        while let Some((value, at)) = open.pop() {
            let mut copy = |part: usize| {
                nodes.push(JsonNode::Null);
                open.push((self.at(part), nodes.len() - 1));
                nodes.len() - 1
            };
            let node = match value.node() {
                JsonNode::Array(items) => {
                    JsonNode::Array(items.iter().map(|item| copy(*item)).collect())
                }
                JsonNode::Object(fields) => {
                    let fields = fields.iter();
                    JsonNode::Object(
                        fields
                            .map(|(name, part)| (name.clone(), copy(*part)))
                            .collect(),
                    )
                }
                simple => simple.clone(),
            };
            if let Some(place) = nodes.get_mut(at) {
                *place = node;
            }
        }
        Json { nodes }
    }

    fn at(self, at: usize) -> JsonRef<'a> {
        JsonRef { at, ..self }
    }

    fn node(self) -> &'a JsonNode {
        // Indices come from the list itself, and the list only grows.
        self.json.nodes.get(self.at).unwrap_or(&JsonNode::Null)
    }
}
