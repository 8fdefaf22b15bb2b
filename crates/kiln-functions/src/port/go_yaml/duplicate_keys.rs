//! Duplicate keys, as go-yaml reports them when it decodes into Go maps.
//!
//! go-yaml compares the texts of keys: `1` and `"1"` are equal, `1` and `0x1` are not.

use std::collections::HashMap;

use kiln_go::quote;
use kiln_yaml::{Document, Kind, NodeRef, SequenceStyle};

/// How many duplicates a message lists. There is one for each pair of equal keys.
const MAX_REPORTED: usize = 1000;

/// Whether a mapping of the tree has a duplicate key.
pub(crate) fn has_duplicates(root: NodeRef<'_>) -> bool {
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if is_ambiguous(node) {
            return true;
        }
        pending.extend(node.children());
    }
    false
}

/// Whether a mapping itself has a duplicate key.
pub(crate) fn is_ambiguous(mapping: NodeRef<'_>) -> bool {
    let mut seen = std::collections::HashSet::new();
    mapping
        .entries()
        .any(|(key, _)| !seen.insert((is_scalar(key), key.value())))
}

/// go-yaml's message about the duplicates of a single document; `None` if there are none. Line numbers are those of
/// the written document.
pub(crate) fn report(document: &Document) -> Option<String> {
    let lines = reports(document);
    (!lines.is_empty()).then(|| message(&lines))
}

/// The message for reports of one or more documents.
pub(crate) fn message(reports: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", reports.join("\n  "))
}

/// The reports about a document, in the order in which go-yaml decodes.
pub(crate) fn reports(document: &Document) -> Vec<String> {
    if !has_duplicates(document.root()) {
        return Vec::new();
    }
    let text = kiln_yaml::to_string(document, SequenceStyle::Compact);
    match kiln_yaml::parse(&text) {
        Ok(Some(written)) => reports_of(written.root()),
        _ => reports_of(document.root()),
    }
}

/// The reports about a node of a parsed document.
pub(crate) fn reports_of(root: NodeRef<'_>) -> Vec<String> {
    let mut reports = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let before = reports.len();
        if node.kind() == Kind::Mapping {
            report_mapping(node, &mut reports);
        }
        if reports.len() >= MAX_REPORTED {
            break;
        }
        // go-yaml does not descend into a mapping that it rejects.
        if reports.len() == before {
            let children: Vec<_> = node.children().collect();
            pending.extend(children.into_iter().rev());
        }
    }
    reports
}

fn report_mapping(mapping: NodeRef<'_>, reports: &mut Vec<String>) {
    let line = |key: NodeRef<'_>| key.position().map_or(0, |position| position.line);
    let mut same: HashMap<(bool, &str), Vec<usize>> = HashMap::new();
    for (key, _) in mapping.entries() {
        let lines = same.entry((is_scalar(key), key.value())).or_default();
        lines.push(line(key));
    }
    if same.values().all(|lines| lines.len() == 1) {
        return;
    }
    // How many keys with the same text came before.
    let mut passed: HashMap<(bool, &str), usize> = HashMap::new();
    for (key, _) in mapping.entries() {
        let identity = (is_scalar(key), key.value());
        let place = passed.entry(identity).or_default();
        *place += 1;
        let later = same.get(&identity).and_then(|lines| lines.get(*place..));
        for other in later.unwrap_or_default() {
            if reports.len() >= MAX_REPORTED {
                return;
            }
            reports.push(format!(
                "line {other}: mapping key {} already defined at line {}",
                quote(key.value()),
                line(key)
            ));
        }
    }
}

/// Scalars and collections never are equal keys; the text of every collection is the same.
fn is_scalar(key: NodeRef<'_>) -> bool {
    key.kind() == Kind::Scalar
}
