//! Setters: comments of the form `# kpt-set: ${name}` that say where a field's value comes from.
//!
//! A pattern may hold several names and text between them. What the names stand for now is found by matching the
//! field's value with the pattern.

use std::collections::HashMap;

use kiln_yaml::{Document, NodeId, Slot, Style};

const MARK: &str = "# kpt-set: ";

/// The pattern that a comment holds. Nothing but exactly one blank may stand before and behind `kpt-set:`.
pub(crate) fn pattern_of(comment: &str) -> Option<&str> {
    let pattern = comment.strip_prefix(MARK)?.trim();
    (!pattern.is_empty()).then_some(pattern)
}

/// The comment that is about a list which is the value of a key: behind the key, or behind `[a, b]`.
pub(crate) fn list_comment(document: &Document, key: NodeId, list: NodeId) -> &str {
    let is_flow = document.node(list).style() == Style::FLOW;
    let commented = if is_flow { list } else { key };
    document.node(commented).comment(Slot::Line)
}

/// All `${name}` of a pattern, in order.
pub(crate) fn references(pattern: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = pattern;
    while let Some(start) = rest.find("${") {
        let reference = rest.get(start..).unwrap_or_default();
        let Some(end) = reference.find('}') else {
            break;
        };
        let (reference, after) = reference.split_at(end + 1);
        found.push(reference);
        rest = after;
    }
    found
}

/// The name in `${name}`.
pub(crate) fn name_in(reference: &str) -> &str {
    let reference = reference.trim();
    let name = reference.strip_prefix("${").unwrap_or(reference);
    name.strip_suffix('}').unwrap_or(name)
}

/// The `${name}` of a name.
pub(crate) fn reference_to(name: &str) -> String {
    format!("${{{name}}}")
}

/// What the names of a pattern stand for in a value. Nothing if the value does not match, or if a name would stand for
/// nothing.
///
/// The original makes an expression of the pattern, in which each name is `(.*)`, and looks for it anywhere in the value.
/// The same is found here without one, in linear time: the first line that has all texts of the pattern in order, and
/// because the first name takes as much as it can, each text at the last place that leaves room for those behind it.
pub(crate) fn current_values(pattern: &str, value: &str) -> Vec<(String, String)> {
    let references = references(pattern);
    let mut lines = value.split('\n');
    let Some(matched) = lines.find_map(|line| texts_of(pattern, &references, line)) else {
        return Vec::new();
    };
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut values: Vec<(String, String)> = Vec::new();
    for (reference, text) in references.iter().zip(matched) {
        if text.is_empty() {
            return Vec::new();
        }
        let name = name_in(reference);
        let place = *places.entry(name).or_insert(values.len());
        match values.get_mut(place) {
            Some((_, known)) => *known = text.to_owned(),
            None => values.push((name.to_owned(), text.to_owned())),
        }
    }
    values
}

/// What stands for each reference of a pattern in a line.
fn texts_of<'v>(pattern: &str, references: &[&str], line: &'v str) -> Option<Vec<&'v str>> {
    let mut literals = Vec::with_capacity(references.len() + 1);
    let mut rest = pattern;
    for reference in references {
        let (before, after) = rest.split_once(reference)?;
        literals.push(before);
        rest = after;
    }
    let (first, later) = match literals.split_first() {
        None => return line.contains(rest).then(Vec::new),
        Some((first, later)) => (*first, later),
    };
    // The match begins as early as it can, and ends as late.
    let start = line.find(first)? + first.len();
    let mut end = match rest {
        "" => line.len(),
        last => line.get(start..)?.rfind(last)? + start,
    };
    let mut texts = Vec::with_capacity(references.len());
    for literal in later.iter().rev() {
        let before = line.get(start..end)?;
        let at = before.rfind(literal)? + start;
        texts.push(line.get(at + literal.len()..end)?);
        end = at;
    }
    texts.push(line.get(start..end)?);
    texts.reverse();
    Some(texts)
}
