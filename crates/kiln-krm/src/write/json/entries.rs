//! The pairs of a mapping as JSON wants them: unique string keys in order, merge keys replaced.

use std::collections::{BTreeMap, HashMap, HashSet};

use kiln_yaml::{Kind, NodeRef};

use super::Reason;
use crate::record::{is_merge_key, line};

/// A mapping's pairs, sorted by key. The document's own mapping takes any scalar for a key and drops null ones.
pub(super) fn entries<'a>(
    top: NodeRef<'a>,
    target: impl Fn(NodeRef<'a>) -> NodeRef<'a>,
    is_document: bool,
) -> Result<Vec<(Option<String>, NodeRef<'a>)>, Reason> {
    let mut found: BTreeMap<String, NodeRef<'a>> = BTreeMap::new();
    let mut seen = HashSet::from([top.id()]);
    // Mappings still to be taken in, the nearest last: what is nearer wins.
    let mut pending = vec![top];
    while let Some(mapping) = pending.pop() {
        check_unique(mapping)?;
        let mut merged = None;
        for (key, value) in mapping.entries() {
            let key = target(key);
            if is_merge_key(key) {
                merged = Some(value);
                continue;
            }
            let Some(text) = key_text(key, is_document)? else {
                continue;
            };
            if mapping.id() == top.id() {
                // Aliases may repeat a key; then the last one counts.
                found.insert(text, value);
            } else {
                found.entry(text).or_insert(value);
            }
        }
        if let Some(merged) = merged {
            for source in sources(merged, &target)?.into_iter().rev() {
                if seen.insert(source.id()) {
                    pending.push(source);
                }
            }
        }
    }
    let pair = |(key, value)| (Some(key), value);
    Ok(found.into_iter().map(pair).collect())
}

fn key_text(key: NodeRef<'_>, is_document: bool) -> Result<Option<String>, Reason> {
    let is_scalar = key.is_scalar();
    match (is_document, key.tag()) {
        (_, "!!str") if is_scalar => Ok(Some(key.value().to_owned())),
        (false, _) => Err(Reason::KeyType),
        (true, "!!null") => Ok(None),
        (true, _) if is_scalar => Ok(Some(key.value().to_owned())),
        (true, tag) => Err(Reason::KeyKind {
            line: line(key),
            tag: tag.to_owned(),
        }),
    }
}

/// The mappings that a merge key brings in.
fn sources<'a>(
    merged: NodeRef<'a>,
    target: impl Fn(NodeRef<'a>) -> NodeRef<'a>,
) -> Result<Vec<NodeRef<'a>>, Reason> {
    let sources: Vec<NodeRef<'a>> = match merged.kind() {
        Kind::Sequence => merged.items().map(target).collect(),
        _ => vec![target(merged)],
    };
    match sources.iter().all(|source| source.is_mapping()) {
        true => Ok(sources),
        false => Err(Reason::Merge),
    }
}

fn check_unique(mapping: NodeRef<'_>) -> Result<(), Reason> {
    let mut first: HashMap<(Kind, &str), NodeRef<'_>> = HashMap::new();
    for (key, _) in mapping.entries() {
        if let Some(first) = first.insert((key.kind(), key.value()), key) {
            return Err(Reason::DuplicateKey {
                key: key.value().to_owned(),
                line: line(key),
                first_line: line(first),
            });
        }
    }
    Ok(())
}
