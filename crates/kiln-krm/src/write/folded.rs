//! Folded texts with indented lines: go-yaml writes them with additional line breaks, so that their value is another one
//! when it is read again.

use kiln_yaml::{NodeId, Style};

use crate::resource::Resource;

/// The texts of a resource that go-yaml damages when it writes them.
pub fn damaged_texts(resource: &Resource) -> Vec<NodeId> {
    let mut found = Vec::new();
    let mut pending = vec![resource.root()];
    while let Some(node) = pending.pop() {
        let is_indented = |line: &str| line.starts_with([' ', '\t']);
        if node.style() == Style::FOLDED && node.value().lines().any(is_indented) {
            found.push(node.id());
        }
        pending.extend(node.children());
    }
    found
}

/// Puts texts of a resource in quotes, which keep their value.
pub fn quote_texts(resource: &mut Resource, texts: &[NodeId]) {
    for text in texts {
        resource
            .document_mut()
            .set_style(*text, Style::DOUBLE_QUOTED);
    }
}
