//! Resources as JSON: what Go's functions see after `yaml.Unmarshal` into maps.
//!
//! A [`Json`] is one flat list of nodes, so that neither building nor dropping it takes a stack as deep as the value.
//! Fields keep the order in which they were written. It is read-only: functions that change resources work on trees.

mod read;
#[cfg(test)]
mod tests;
mod text;

#[cfg(test)]
use read::JsonError;
pub(crate) use read::{Scalars, read};

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Json {
    nodes: Vec<Node>,
}

/// A value, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonRef<'a> {
    json: &'a Json,
    at: usize,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(&'a str),
    Array,
    Object,
}

#[derive(Clone, Debug)]
enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Array(Vec<usize>),
    Object(Vec<(String, usize)>),
}

impl Json {
    /// The part at a place that [`JsonRef::place`] named.
    pub(crate) fn part(&self, place: usize) -> JsonRef<'_> {
        JsonRef {
            json: self,
            at: place,
        }
    }

    /// A string as a value.
    pub(crate) fn string(text: &str) -> Json {
        Json {
            nodes: vec![Node::String(text.to_owned())],
        }
    }

    pub(crate) fn root(&self) -> JsonRef<'_> {
        JsonRef { json: self, at: 0 }
    }
}

impl<'a> JsonRef<'a> {
    pub(crate) fn content(self) -> Content<'a> {
        match self.node() {
            Node::Null => Content::Null,
            Node::Bool(value) => Content::Bool(*value),
            Node::Int(value) => Content::Int(*value),
            Node::Float(value) => Content::Float(*value),
            Node::String(text) => Content::String(text),
            Node::Array(_) => Content::Array,
            Node::Object(_) => Content::Object,
        }
    }

    /// The items of an array; none of anything else.
    pub(crate) fn items(self) -> impl ExactSizeIterator<Item = JsonRef<'a>> {
        let items: &[usize] = match self.node() {
            Node::Array(items) => items,
            _ => &[],
        };
        items.iter().map(move |at| self.at(*at))
    }

    /// The fields of an object; none of anything else.
    pub(crate) fn fields(self) -> impl ExactSizeIterator<Item = (&'a str, JsonRef<'a>)> {
        let fields: &[(String, usize)] = match self.node() {
            Node::Object(fields) => fields,
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
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self.node(), Node::Object(_))
    }

    /// Where in its [`Json`] the value stands.
    pub(crate) fn place(self) -> usize {
        self.at
    }

    /// The value by itself.
    pub(crate) fn to_json(self) -> Json {
        let mut nodes = vec![Node::Null];
        let mut open = vec![(self, 0)];
        while let Some((value, at)) = open.pop() {
            let mut copy = |part: usize| {
                nodes.push(Node::Null);
                open.push((self.at(part), nodes.len() - 1));
                nodes.len() - 1
            };
            let node = match value.node() {
                Node::Array(items) => Node::Array(items.iter().map(|item| copy(*item)).collect()),
                Node::Object(fields) => {
                    let fields = fields.iter();
                    Node::Object(
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

    fn node(self) -> &'a Node {
        // Places come from the list itself, and it only grows.
        self.json.nodes.get(self.at).unwrap_or(&Node::Null)
    }
}
