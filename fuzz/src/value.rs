//! Equality by value: kinds, texts, tags, anchors and structure, whatever the styles and comments.

use kiln_yaml::{Document, NodeRef};

/// Panics at the first node that differs.
pub(crate) fn assert_same(before: &[Document], after: &[Document], text: &str) {
    assert_eq!(before.len(), after.len(), "number of documents in\n{text}");
    for (before, after) in before.iter().zip(after) {
        let mut pending = vec![(before.root(), after.root())];
        while let Some((before, after)) = pending.pop() {
            assert_eq!(before.kind(), after.kind(), "kind in\n{text}");
            assert_eq!(before.value(), after.value(), "value in\n{text}");
            assert_eq!(before.anchor(), after.anchor(), "anchor in\n{text}");
            assert_eq!(before.len(), after.len(), "children in\n{text}");
            if !had_to_be_quoted(before, after) {
                assert_eq!(
                    before.tag(),
                    after.tag(),
                    "tag of {:?} in\n{text}",
                    before.value()
                );
            }
            pending.extend(before.children().zip(after.children()));
        }
    }
}

/// go-yaml quotes plain texts that cannot stand plain where they are (an empty one as a key or between brackets, a
/// time with colons between brackets), which makes a string of them.
fn had_to_be_quoted(before: NodeRef<'_>, after: NodeRef<'_>) -> bool {
    !before.style().is_quoted_or_block() && after.style().is_quoted_or_block()
}
