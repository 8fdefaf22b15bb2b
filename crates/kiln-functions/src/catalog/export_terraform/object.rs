//! Fields of a resource as the original's SDK reads them: a value of another type counts as missing, and aliases are
//! not followed.

use kiln_krm::record::{Reader, UnknownKeys, Value};
use kiln_yaml::{Kind, NodeRef};

#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    root: NodeRef<'a>,
}

pub(super) struct RecordList<V> {
    pub(super) is_found: bool,
    /// The records before the first invalid one.
    pub(super) items: Vec<V>,
    /// Why a record is invalid.
    pub(super) error: Option<String>,
}

enum Lookup<'a> {
    Missing,
    /// A parent of the field has no fields; holds the SDK's name of its type.
    Obstructed(&'static str),
    Found(NodeRef<'a>),
}

impl<'a> Object<'a> {
    pub(super) fn new(root: NodeRef<'a>) -> Object<'a> {
        Object { root }
    }

    pub(super) fn text(self, path: &[&str]) -> Option<&'a str> {
        self.scalar(path, "!!str")
    }

    /// A boolean; false if it is missing.
    pub(super) fn flag(self, path: &[&str]) -> bool {
        let value = self.scalar(path, "!!bool");
        value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// A decimal integer; zero if it is missing.
    pub(super) fn integer(self, path: &[&str]) -> i64 {
        let value = self.scalar(path, "!!int");
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// A floating-point number; zero if it is missing.
    pub(super) fn fraction(self, path: &[&str]) -> f64 {
        let value = self.scalar(path, "!!float");
        let number = value.and_then(|value| value.parse().ok());
        number
            .filter(|number: &f64| number.is_finite())
            .unwrap_or(0.0)
    }

    /// A list of strings; empty if it is missing or an item is not a string.
    pub(super) fn texts(self, path: &[&str]) -> Vec<String> {
        let list = self.list(path);
        match list.error {
            Some(_) => Vec::new(),
            None => list.items,
        }
    }

    pub(super) fn list<V: Value>(self, path: &[&str]) -> RecordList<V> {
        let failure = |why: String| {
            let (fields, type_name) = (path.join(" "), V::type_name());
            format!("unable to get fields [{fields}] as *[]{type_name} with error: {why}")
        };
        let wrong = |why: String| RecordList {
            is_found: true,
            items: Vec::new(),
            error: Some(failure(why)),
        };
        match self.find(path) {
            Lookup::Missing => RecordList {
                is_found: false,
                items: Vec::new(),
                error: None,
            },
            Lookup::Obstructed(by) => wrong(format!("wrong type, got: {by}")),
            Lookup::Found(node) if !node.is_sequence() => {
                wrong(format!("incorrect type, was {}", type_name(node)))
            }
            Lookup::Found(node) => {
                let (items, error) =
                    Reader::what_fits(node.document(), node.id(), UnknownKeys::Ignore);
                RecordList {
                    is_found: true,
                    items,
                    error: error.map(|error| failure(error.to_string())),
                }
            }
        }
    }

    fn scalar(self, path: &[&str], tag: &str) -> Option<&'a str> {
        match self.find(path) {
            Lookup::Found(node) if node.is_scalar() && node.tag() == tag => Some(node.value()),
            _ => None,
        }
    }

    fn find(self, path: &[&str]) -> Lookup<'a> {
        let mut node = self.root;
        for key in path {
            if !node.is_mapping() {
                return Lookup::Obstructed(type_name(node));
            }
            let is_key = |candidate: NodeRef<'_>| {
                candidate.is_scalar() && candidate.tag() == "!!str" && candidate.value() == *key
            };
            match node.entries().find(|(key, _)| is_key(*key)) {
                Some((_, value)) if value.kind() != Kind::Alias => node = value,
                _ => return Lookup::Missing,
            }
        }
        Lookup::Found(node)
    }
}

fn type_name(node: NodeRef<'_>) -> &'static str {
    match node.kind() {
        Kind::Mapping => "*fnsdk.mapVariant",
        Kind::Sequence => "*fnsdk.sliceVariant",
        Kind::Scalar | Kind::Alias => "*fnsdk.scalarVariant",
    }
}
