//! Single nodes and comments as text.

use kiln_yaml::{Document, NodeRef, SequenceStyle};

/// A node as YAML with its comments, without the space around it.
pub(crate) fn node_text(node: NodeRef<'_>) -> String {
    let text = kiln_yaml::to_string(&Document::from_node(node), SequenceStyle::Compact);
    text.trim().to_owned()
}

/// A comment as it is once it has been written: every line of it begins with `#`.
pub(crate) fn as_comment(text: &str) -> String {
    let line = |line: &str| match line {
        "" => String::new(),
        line if line.starts_with('#') => line.to_owned(),
        line => format!("# {line}"),
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}
