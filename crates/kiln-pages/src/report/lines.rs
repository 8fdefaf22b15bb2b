//! The line of a field in a file.

use kiln_yaml::{Document, NodeRef, parse_until_error};

/// A file, parsed to look for lines.
pub struct FileLines {
    documents: Vec<Document>,
}

impl FileLines {
    pub fn of(text: &[u8]) -> FileLines {
        FileLines {
            documents: parse_until_error(text).0,
        }
    }

    /// The line of a field of the document with this index; the nearest parent that exists counts. `field` is written as
    /// functions write it: `spec.containers[0].image`.
    pub fn line(&self, index: usize, field: &str) -> Option<usize> {
        let document = self.documents.get(index)?;
        let mut node = document.root();
        let mut line = node.position()?.line;
        for step in field_steps(field) {
            let Some((position_of, next)) = descend(node, step) else {
                break;
            };
            line = position_of
                .position()
                .map_or(line, |position| position.line);
            node = next;
        }
        Some(line)
    }
}

/// The node that shows where the step leads, and where it leads.
fn descend<'a>(node: NodeRef<'a>, step: &str) -> Option<(NodeRef<'a>, NodeRef<'a>)> {
    if node.is_mapping() {
        return node.entry(step);
    }
    let item = node.items().nth(step.parse().ok()?)?;
    Some((item, item))
}

/// The steps of a path: keys, also in brackets and quotes, and indices.
fn field_steps(field: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = field.trim_start_matches('.');
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inside) => inside.split_once(']').unwrap_or((inside, "")),
            None => {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        let step = step.trim_matches(['"', '\'']);
        if !step.is_empty() {
            steps.push(step);
        }
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    steps
}
