//! Values in messages.

use kiln_yaml::{Document, Kind, NodeRef, Style};

use super::super::comments::Comments;

/// A value in one line, for messages.
pub(super) fn short_text(node: NodeRef<'_>) -> String {
    const LONGEST: usize = 120;
    let text = match node.kind() {
        Kind::Scalar if node.style().is_quoted_or_block() || node.value().is_empty() => {
            kiln_go::quote(node.value())
        }
        Kind::Scalar | Kind::Alias => node.value().to_owned(),
        Kind::Mapping | Kind::Sequence => flow_text(node),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn flow_text(node: NodeRef<'_>) -> String {
    let mut doc = Document::from_node(node);
    let mut pending = vec![doc.root().id()];
    let root = doc.root().id();
    while let Some(id) = pending.pop() {
        Comments::default().set(&mut doc, id);
        pending.extend(doc.child_ids(id));
    }
    doc.set_style(root, Style::FLOW);
    let text = kiln_yaml::to_string(&doc, kiln_yaml::SequenceStyle::Compact);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ")
}
