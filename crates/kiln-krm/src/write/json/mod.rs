//! A document as JSON, by the rules of the Go libraries: keys sorted, two spaces, HTML escaped, numbers normalised.
//!
//! As there, the document is written as YAML and read again before it becomes JSON, so that what the YAML writer does
//! to values happens here too. Aliases and merge keys are replaced by what they stand for, within limits.

mod entries;
mod scalar;
mod valid;

pub use valid::is_valid;

use std::collections::HashMap;

use kiln_yaml::{Allowance, Document, Kind, NodeId, NodeRef, SequenceStyle, may_build};

use crate::record::allowed_alias_share;

/// Why a document cannot be written as JSON.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("json: error calling MarshalJSON for type *yaml.RNode: {0}")]
pub struct JsonError(pub Reason);

/// The reason itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// The document as written cannot be read again.
    #[error("{0}")]
    Unreadable(kiln_yaml::Error),
    /// A key occurs twice.
    #[error(
        "yaml: unmarshal errors:\n  line {line}: mapping key {} already defined at line {first_line}",
        kiln_go::quote(key)
    )]
    DuplicateKey {
        key: String,
        line: usize,
        first_line: usize,
    },
    /// A key of the root mapping is not a scalar.
    #[error("yaml: unmarshal errors:\n  line {line}: cannot unmarshal {tag} into string")]
    KeyKind {
        line: usize,
        /// What it is instead.
        tag: String,
    },
    /// A nested key is not a string.
    #[error("json: unsupported type: map[interface {{}}]interface {{}}")]
    KeyType,
    /// A number that JSON cannot express.
    #[error("json: unsupported value: {0}")]
    Value(&'static str),
    /// A text that does not match its tag.
    #[error("yaml: {0}")]
    Tag(String),
    /// An alias inside of its target.
    #[error("yaml: anchor '{0}' value contains itself")]
    ContainsItself(String),
    /// Aliases expand to much more than the document.
    #[error("yaml: document contains excessive aliasing")]
    ExcessiveAliasing,
    /// The text is longer than the allowance of the thread.
    #[error("json: the text is too long")]
    TooLong,
    /// A merge key with something else than mappings.
    #[error("yaml: map merge requires map or sequence of maps as the value")]
    Merge,
}

/// The document as JSON text with a final line break.
pub fn to_json(document: &Document) -> Result<String, JsonError> {
    let text = kiln_yaml::to_string(document, SequenceStyle::Compact);
    let again = kiln_yaml::parse(&text).map_err(|error| JsonError(Reason::Unreadable(error)))?;
    match again {
        Some(document) => JsonWriter::new(&document).write().map_err(JsonError),
        None => Ok("{}\n".to_owned()),
    }
}

/// A collection that is being written.
struct OpenJson<'a> {
    node: NodeId,
    children: std::vec::IntoIter<(Option<String>, NodeRef<'a>)>,
    close: char,
    is_first: bool,
    /// Whether what is below was reached through an alias.
    by_alias: bool,
}

struct JsonWriter<'a> {
    document: &'a Document,
    targets: HashMap<NodeId, NodeId>,
    out: String,
    open: Vec<OpenJson<'a>>,
    written: usize,
    written_by_alias: usize,
    /// How long the text may get: aliases and indentation may make it much longer than the document.
    limit: usize,
}

impl<'a> JsonWriter<'a> {
    fn new(document: &'a Document) -> JsonWriter<'a> {
        JsonWriter {
            document,
            targets: document.alias_targets(),
            out: String::new(),
            open: Vec::new(),
            written: 0,
            written_by_alias: 0,
            limit: Allowance::current().map_or(usize::MAX, |allowance| {
                usize::try_from(allowance.left()).unwrap_or(usize::MAX)
            }),
        }
    }

    fn write(mut self) -> Result<String, Reason> {
        self.value(self.document.root())?;
        loop {
            let depth = self.open.len();
            let Some(open) = self.open.last_mut() else {
                break;
            };
            match open.children.next() {
                Some((key, value)) => {
                    if self.out.len() > self.limit {
                        may_build(self.out.len());
                        return Err(Reason::TooLong);
                    }
                    if !std::mem::take(&mut open.is_first) {
                        self.out.push(',');
                    }
                    self.line(depth);
                    if let Some(key) = key {
                        kiln_go::push_json_string(&mut self.out, &key);
                        self.out.push_str(": ");
                    }
                    self.value(value)?;
                }
                None => {
                    let (close, is_empty) = (open.close, open.is_first);
                    self.open.pop();
                    if !is_empty {
                        self.line(depth - 1);
                    }
                    self.out.push(close);
                }
            }
        }
        self.out.push('\n');
        Ok(self.out)
    }

    fn line(&mut self, depth: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", depth));
    }

    fn value(&mut self, node: NodeRef<'a>) -> Result<(), Reason> {
        let mut by_alias = self.open.last().is_some_and(|open| open.by_alias);
        let mut node = node;
        if node.kind() == Kind::Alias {
            let name = node.value();
            node = self.target(node);
            by_alias = true;
            if self.open.iter().any(|open| open.node == node.id()) {
                return Err(Reason::ContainsItself(name.to_owned()));
            }
        }
        self.count(by_alias)?;
        let (children, close) = match node.kind() {
            Kind::Mapping => {
                let is_top = self.open.is_empty();
                let entries = entries::entries(node, |key| self.target(key), is_top)?;
                self.out.push('{');
                (entries, '}')
            }
            Kind::Sequence => {
                self.out.push('[');
                (node.items().map(|item| (None, item)).collect(), ']')
            }
            Kind::Scalar | Kind::Alias => return scalar::push_scalar(&mut self.out, node),
        };
        self.open.push(OpenJson {
            node: node.id(),
            children: children.into_iter(),
            close,
            is_first: true,
            by_alias,
        });
        Ok(())
    }

    /// The target of an alias; any other node itself.
    fn target(&self, node: NodeRef<'a>) -> NodeRef<'a> {
        match self.targets.get(&node.id()) {
            Some(target) => self.document.node(*target),
            None => node,
        }
    }

    /// The limit of go-yaml: the larger the document, the smaller the part of it that aliases may account for.
    fn count(&mut self, by_alias: bool) -> Result<(), Reason> {
        self.written += 1;
        self.written_by_alias += usize::from(by_alias);
        let (written, by_alias) = (self.written as f64, self.written_by_alias as f64);
        let allowed = allowed_alias_share(written);
        if self.written_by_alias > 100 && self.written > 1000 && by_alias / written > allowed {
            return Err(Reason::ExcessiveAliasing);
        }
        Ok(())
    }
}
