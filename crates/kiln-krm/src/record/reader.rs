//! Walking a tree beside a type: aliases, merge keys, duplicate keys, and the list of what does not fit.
//!
//! Problems are collected and reported together with their lines; few stop the reading at once. Depth is bounded
//! by the types that are read and by a limit on aliases and merges, not by the input.

use std::collections::{BTreeMap, HashMap, HashSet};

use kiln_yaml::{Document, Kind, NodeId, NodeRef};

use super::Value;
use super::misfit::MisfitProblem;
use super::node::{allowed_alias_share, explicit_tag_lie, is_merge_key, line};

/// Why a tree does not fit a type, in go-yaml's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// All values that do not fit the type. Never empty.
    #[error("yaml: unmarshal errors:\n  {}", joined(.0))]
    Misfits(Vec<Misfit>),
    #[error("yaml: {0}")]
    Stopped(String),
}

/// A value that does not fit its type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct Misfit {
    /// The line of the value, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: MisfitProblem,
}

impl DecodeError {
    /// The line of the first value that does not fit.
    pub fn line(&self) -> Option<usize> {
        match self {
            DecodeError::Misfits(misfits) => misfits.first().map(|misfit| misfit.line),
            DecodeError::Stopped(_) => None,
        }
    }
}

fn joined(misfits: &[Misfit]) -> String {
    let texts: Vec<String> = misfits.iter().map(ToString::to_string).collect();
    texts.join("\n  ")
}

/// What stops the reading at once.
#[derive(Debug)]
pub struct Fatal(String);

/// What to do about keys that a record does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownKeys {
    /// They are problems.
    Refuse,
    /// They are passed over.
    Ignore,
}

/// Aliases inside aliases, and merges inside merges, are followed this deep.
const MAX_DEPTH: usize = 200;
/// Aliases stand for no more text than this, other than in Go, which has no such limit.
const MAX_ALIASED_BYTES: usize = 32 << 20;
/// No more problems than this are listed. (Go lists each pair of equal keys, whose number is quadratic.)
const MAX_PROBLEMS: usize = 10_000;

/// Reads values off one document.
pub struct Reader<'a> {
    doc: &'a Document,
    unknown_keys: UnknownKeys,
    problems: Vec<Misfit>,
    /// What each alias stands for; filled when the first is met.
    targets: Option<HashMap<NodeId, NodeId>>,
    open_aliases: HashSet<NodeId>,
    depth: usize,
    reads: usize,
    reads_through_aliases: usize,
    bytes_through_aliases: usize,
    /// The keys that merged mappings must not set any more; none outside of merges.
    settled: Option<HashSet<String>>,
}

impl<'a> Reader<'a> {
    /// Reads the whole document as one value.
    pub fn document<V: Value>(
        doc: &'a Document,
        unknown_keys: UnknownKeys,
    ) -> Result<V, DecodeError> {
        Reader::node(doc, doc.root().id(), unknown_keys)
    }

    /// Reads a node of a document as a value.
    pub fn node<V: Value>(
        doc: &'a Document,
        node: NodeId,
        unknown_keys: UnknownKeys,
    ) -> Result<V, DecodeError> {
        match Reader::what_fits(doc, node, unknown_keys) {
            (value, None) => Ok(value),
            (_, Some(error)) => Err(error),
        }
    }

    /// As much of a value as a node gives, and what is wrong with the rest.
    pub fn what_fits<V: Value>(
        doc: &'a Document,
        node: NodeId,
        unknown_keys: UnknownKeys,
    ) -> (V, Option<DecodeError>) {
        let mut reader = Reader {
            doc,
            unknown_keys,
            problems: Vec::new(),
            targets: None,
            open_aliases: HashSet::new(),
            depth: 0,
            reads: 0,
            reads_through_aliases: 0,
            bytes_through_aliases: 0,
            settled: None,
        };
        let mut value = V::default();
        let error = match reader.read(doc.node(node), &mut value) {
            Err(Fatal(message)) => Some(DecodeError::Stopped(message)),
            Ok(_) if !reader.problems.is_empty() => Some(DecodeError::Misfits(reader.problems)),
            Ok(_) => None,
        };
        (value, error)
    }

    /// Reads a node as a value; false if the value has not been set.
    pub fn read<V: Value>(&mut self, node: NodeRef<'_>, out: &mut V) -> Result<bool, Fatal> {
        self.read_named(node, out, None)
    }

    /// Reads a node as a value whose type has another name in messages.
    pub fn read_named<V: Value>(
        &mut self,
        node: NodeRef<'_>,
        out: &mut V,
        type_name: Option<&str>,
    ) -> Result<bool, Fatal> {
        self.count_read()?;
        if node.kind() == Kind::Alias {
            return self.through_alias(node, |reader, target| {
                reader.read_named(target, out, type_name)
            });
        }
        if !V::READS_ANYTHING
            && let Some(lie) = explicit_tag_lie(node)
        {
            return Err(Fatal(lie));
        }
        if node.is_null() {
            return Ok(out.read_null());
        }
        if !V::READS_ANYTHING && node.is_mapping() && self.has_duplicate_keys(node) {
            return Ok(false);
        }
        match type_name {
            Some(type_name) => out.read(node, type_name, self),
            None => out.read(node, &V::type_name(), self),
        }
    }

    /// The node itself, or what it is an alias of.
    pub(crate) fn target<'b>(&mut self, node: NodeRef<'b>) -> Result<NodeRef<'b>, Fatal>
    where
        'a: 'b,
    {
        match node.kind() {
            Kind::Alias => self.through_alias(node, |_, target| Ok(target)),
            _ => Ok(node),
        }
    }

    /// Reports that a node does not fit a type.
    pub fn misfit(&mut self, node: NodeRef<'_>, type_name: &str) -> Result<bool, Fatal> {
        let tag = node.tag();
        let shown = match (tag, node.value()) {
            // Empty, unless a scalar has such a tag.
            ("!!seq" | "!!map", value) => value.to_owned(),
            (_, value) if value.len() > 10 => {
                let start = value.as_bytes().get(..7).unwrap_or_default();
                format!(" `{}...`", String::from_utf8_lossy(start))
            }
            (_, value) => format!(" `{value}`"),
        };
        let problem = MisfitProblem::WrongType {
            tag: tag.to_owned(),
            shown,
            type_name: type_name.to_owned(),
        };
        self.problem(node, problem);
        Ok(false)
    }

    /// Adds the pairs of a mapping to a map of texts.
    pub(crate) fn read_map(
        &mut self,
        node: NodeRef<'_>,
        out: &mut BTreeMap<String, String>,
    ) -> Result<(), Fatal> {
        self.read_entries(node, |reader, key, _, value| {
            let mut text = String::new();
            let problems = reader.problems.len();
            let is_set = reader.read(value, &mut text)?;
            // Null, which sets nothing and is not an error, becomes the empty text.
            if is_set || reader.problems.len() == problems {
                out.insert(key.to_owned(), text);
            }
            Ok(())
        })
    }

    /// Calls `each` for the pairs of a mapping, merged ones included, unless their key is settled already.
    fn read_entries(
        &mut self,
        node: NodeRef<'_>,
        mut each: impl FnMut(&mut Self, &str, NodeRef<'_>, NodeRef<'_>) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        self.read_entries_dyn(node, &mut each)
    }

    // Merges recurse into this; a generic closure would make a new type at each level.
    #[expect(clippy::type_complexity, reason = "a name for it would say no more")]
    fn read_entries_dyn(
        &mut self,
        node: NodeRef<'_>,
        each: &mut dyn FnMut(&mut Self, &str, NodeRef<'_>, NodeRef<'_>) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let mut settled = self.settled.take();
        let mut merge = None;
        for (key_node, value) in node.entries() {
            if is_merge_key(key_node) {
                merge = Some(value);
                continue;
            }
            let mut key = String::new();
            if !self.read(key_node, &mut key)? {
                continue;
            }
            if let Some(settled) = &mut settled
                && !settled.insert(key.clone())
            {
                continue;
            }
            each(self, &key, key_node, value)?;
        }
        self.settled = settled;
        match merge {
            Some(merged) => self.merge(node, merged, each),
            None => Ok(()),
        }
    }

    #[expect(clippy::type_complexity, reason = "a name for it would say no more")]
    fn merge(
        &mut self,
        parent: NodeRef<'_>,
        merged: NodeRef<'_>,
        each: &mut dyn FnMut(&mut Self, &str, NodeRef<'_>, NodeRef<'_>) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let outer = self.settled.clone();
        if outer.is_none() {
            // Only keys that are strings by their own look settle anything.
            let own = parent.entries().map(|(key, _)| key);
            let own = own.filter(|key| key.is_scalar() && matches!(key.tag(), "!!str" | "!!merge"));
            self.settled = Some(own.map(|key| key.value().to_owned()).collect());
        }
        let sources: Vec<NodeRef<'_>> = match merged.kind() {
            Kind::Sequence => merged.items().collect(),
            _ => vec![merged],
        };
        self.enter()?;
        for source in sources {
            self.count_read()?;
            match source.kind() {
                Kind::Mapping => self.merge_one(source, each)?,
                Kind::Alias => {
                    self.through_alias(source, |reader, target| match target.kind() {
                        Kind::Mapping => reader.merge_one(target, each),
                        _ => Err(not_a_map()),
                    })?
                }
                Kind::Scalar | Kind::Sequence => return Err(not_a_map()),
            }
        }
        self.depth -= 1;
        self.settled = outer;
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "a name for it would say no more")]
    fn merge_one(
        &mut self,
        source: NodeRef<'_>,
        each: &mut dyn FnMut(&mut Self, &str, NodeRef<'_>, NodeRef<'_>) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        if self.has_duplicate_keys(source) {
            return Ok(());
        }
        self.read_entries_dyn(source, each)
    }

    fn through_alias<T>(
        &mut self,
        alias: NodeRef<'_>,
        then: impl FnOnce(&mut Self, NodeRef<'a>) -> Result<T, Fatal>,
    ) -> Result<T, Fatal> {
        let doc = self.doc;
        let targets = self.targets.get_or_insert_with(|| doc.alias_targets());
        let Some(target) = targets.get(&alias.id()).copied() else {
            return Err(Fatal(format!(
                "unknown anchor '{}' referenced",
                alias.value()
            )));
        };
        if !self.open_aliases.insert(alias.id()) {
            return Err(Fatal(format!(
                "anchor '{}' value contains itself",
                alias.value()
            )));
        }
        self.enter()?;
        self.bytes_through_aliases += doc.node(target).value().len();
        if self.bytes_through_aliases > MAX_ALIASED_BYTES || !self.may_keep(doc.node(target)) {
            return Err(excessive_aliasing());
        }
        let done = then(self, doc.node(target))?;
        self.depth -= 1;
        self.open_aliases.remove(&alias.id());
        Ok(done)
    }

    /// An alias of a few bytes may stand for a long text.
    fn may_keep(&self, target: NodeRef<'_>) -> bool {
        kiln_yaml::take_for_good(target.value().len())
    }

    fn enter(&mut self) -> Result<(), Fatal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn count_read(&mut self) -> Result<(), Fatal> {
        self.reads += 1;
        if !self.open_aliases.is_empty() {
            self.reads_through_aliases += 1;
        }
        let (all, aliased) = (self.reads as f64, self.reads_through_aliases as f64);
        let few = self.reads_through_aliases <= 100 || self.reads <= 1000;
        if !few && aliased / all > allowed_alias_share(all) {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn has_duplicate_keys(&mut self, mapping: NodeRef<'_>) -> bool {
        let mut places: HashMap<(Kind, &str), Vec<usize>> = HashMap::new();
        let keys: Vec<NodeRef<'_>> = mapping.entries().map(|(key, _)| key).collect();
        for (place, key) in keys.iter().enumerate() {
            places
                .entry((key.kind(), key.value()))
                .or_default()
                .push(place);
        }
        if places.len() == keys.len() {
            return false;
        }
        // Each pair of equal keys is a problem of its own.
        for (place, first) in keys.iter().enumerate() {
            let same = places.get(&(first.kind(), first.value()));
            let later = same.into_iter().flatten().filter(|other| **other > place);
            for again in later.filter_map(|other| keys.get(*other)) {
                if self.problems.len() >= MAX_PROBLEMS {
                    return true;
                }
                let problem = MisfitProblem::DuplicateKey {
                    key: again.value().to_owned(),
                    first_line: line(*first),
                };
                self.problem(*again, problem);
            }
        }
        true
    }

    fn problem(&mut self, node: NodeRef<'_>, problem: MisfitProblem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Misfit {
                line: line(node),
                problem,
            });
        }
    }
}

/// Reads a mapping key by key. `field` reads one value and returns the name of the field it belongs to, or none if
/// there is no such field; `known` are the names of all fields.
pub fn read_record(
    node: NodeRef<'_>,
    type_name: &str,
    known: &'static [&'static str],
    reader: &mut Reader<'_>,
    mut field: impl FnMut(&str, NodeRef<'_>, &mut Reader<'_>) -> Result<Option<&'static str>, Fatal>,
) -> Result<bool, Fatal> {
    if !node.is_mapping() {
        return reader.misfit(node, type_name);
    }
    let mut done: HashSet<String> = HashSet::new();
    reader.read_entries(node, |reader, key, key_node, value| {
        if !done.insert(key.to_owned()) {
            let problem = MisfitProblem::RepeatedField {
                key: key.to_owned(),
                type_name: type_name.to_owned(),
            };
            reader.problem(key_node, problem);
            return Ok(());
        }
        let is_known = field(key, value, reader)?.is_some();
        if !is_known {
            done.remove(key);
            if reader.unknown_keys == UnknownKeys::Refuse {
                let problem = MisfitProblem::UnknownField {
                    key: key.to_owned(),
                    type_name: type_name.to_owned(),
                    known,
                };
                reader.problem(key_node, problem);
            }
        }
        Ok(())
    })?;
    Ok(true)
}

fn not_a_map() -> Fatal {
    Fatal("map merge requires map or sequence of maps as the value".to_owned())
}

fn excessive_aliasing() -> Fatal {
    Fatal("document contains excessive aliasing".to_owned())
}
