//! Setters: comments of the form `# kpt-set: ${name}` that say where a field's value comes from.
//!
//! A pattern may hold several names and text between them. What the names stand for now is found by matching the
//! field's value with the pattern.

use kiln_yaml::{Document, NodeId, Slot, Style};
use regex::Regex;

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
pub(crate) fn current_values(pattern: &str, value: &str) -> Vec<(String, String)> {
    let references = references(pattern);
    let mut expression = regex::escape(pattern);
    for reference in &references {
        expression = expression.replace(&regex::escape(reference), "(.*)");
    }
    let groups = Regex::new(&expression)
        .ok()
        .and_then(|expression| expression.captures(value));
    let Some(groups) = groups.filter(|groups| groups.len() == references.len() + 1) else {
        return Vec::new();
    };
    let mut values: Vec<(String, String)> = Vec::new();
    for (reference, group) in references.iter().zip(groups.iter().skip(1)) {
        let Some(text) = group.map(|group| group.as_str()).filter(|t| !t.is_empty()) else {
            return Vec::new();
        };
        let name = name_in(reference);
        match values.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = text.to_owned(),
            None => values.push((name.to_owned(), text.to_owned())),
        }
    }
    values
}
