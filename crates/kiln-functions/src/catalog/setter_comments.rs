//! Setters: comments of the form `# kpt-set: ${name}` that declare where the value of a field comes from.
//!
//! A pattern may contain several names and text between them. Their current values are found by matching the value of
//! the field against the pattern.

use std::collections::HashMap;

use kiln_yaml::{Document, NodeId, Slot, Style};

const MARK: &str = "# kpt-set: ";

/// The pattern in a comment. There must be exactly one space before and after `kpt-set:`.
pub(crate) fn pattern_of(comment: &str) -> Option<&str> {
    let pattern = comment.strip_prefix(MARK)?.trim();
    (!pattern.is_empty()).then_some(pattern)
}

/// The comment of a list that is the value of a key: after the key, or after `[a, b]`.
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

pub(crate) fn name_in(reference: &str) -> &str {
    let reference = reference.trim();
    let name = reference.strip_prefix("${").unwrap_or(reference);
    name.strip_suffix('}').unwrap_or(name)
}

pub(crate) fn reference_to(name: &str) -> String {
    format!("${{{name}}}")
}

/// The current values of the names of a pattern. Empty if the value does not match, or if a name would be empty.
///
/// The original makes a regular expression of the pattern, in which each name is `(.*)`, and searches for it anywhere
/// in the value. This finds the same in linear time: the first line that contains all texts of the pattern in order
/// and, because names are greedy, each text at the last position that leaves room for the texts after it.
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

/// The text of each reference of a pattern in a line.
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
    // The match begins as early and ends as late as possible.
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
