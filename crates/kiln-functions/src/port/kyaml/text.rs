//! Single nodes and comments as text.

use kiln_yaml::{Document, NodeRef, SequenceStyle};

/// A node as YAML with its comments, trimmed.
pub(crate) fn node_text(node: NodeRef<'_>) -> String {
    let text = kiln_yaml::to_string(&Document::from_node(node), SequenceStyle::Compact);
    text.trim().to_owned()
}

/// A comment as it is written: every line begins with `#`.
pub(crate) fn as_comment(text: &str) -> String {
    let line = |line: &str| match line {
        "" => String::new(),
        line if line.starts_with('#') => line.to_owned(),
        line => format!("# {line}"),
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}
