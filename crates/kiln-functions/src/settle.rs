//! Makes a changed tree equal to the tree after writing and parsing it, for trees that are passed on without text.
//!
//! Each resource is parsed by itself: a comment that go-yaml would move into the next resource is not moved.

use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle, Style};

use crate::budget::is_stopped;
use crate::function::FunctionList;

/// Parses the unsettled resources of a list again from their own text. A resource that cannot be parsed is not
/// changed.
pub(crate) fn settle(list: &mut FunctionList) {
    let mut places = std::mem::take(&mut list.unsettled);
    places.dedup();
    for place in places {
        if is_stopped() {
            return;
        }
        let Some(resource) = list.items.get_mut(place) else {
            continue;
        };
        let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
        if let Ok(Some(mut document)) = kiln_yaml::parse(&text) {
            keep_folded(resource.document(), &mut document);
            *resource.document_mut() = document;
        }
    }
}

/// Restores the values of folded scalars: go-yaml writes an extra blank line around indented lines, so that such a
/// scalar grows each time it is written and parsed.
fn keep_folded(before: &Document, after: &mut Document) {
    let (old, new) = (folded(before), folded(after));
    if old.len() != new.len() {
        return;
    }
    for ((_, old), (id, new)) in old.iter().zip(new) {
        if *old != new {
            after.set_value(id, old);
        }
    }
}

/// The folded scalars of a document in order, with their values.
fn folded(document: &Document) -> Vec<(NodeId, String)> {
    let mut found = Vec::new();
    let mut pending = vec![document.root()];
    while let Some(node) = pending.pop() {
        if node.is_scalar() && node.style() == Style::FOLDED {
            found.push((node.id(), node.value().to_owned()));
        }
        let children: Vec<NodeRef<'_>> = node.children().collect();
        pending.extend(children.into_iter().rev());
    }
    found
}

/// Whether a text needs no quotes anywhere and is parsed as a string, so that a scalar with it needs no settling.
pub(crate) fn is_surely_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Numbers and times begin with a digit. `null` and `true` have their own tags, which settling sets.
    if bytes.first().is_some_and(u8::is_ascii_digit) || kiln_yaml::is_yaml_1_1_non_string(text) {
        return false;
    }
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._/:@+".contains(byte))
}

#[cfg(test)]
mod tests {
    use kiln_krm::Resource;

    use super::*;

    #[test]
    fn folded_texts_do_not_grow() {
        let text = "kind: A\ntext: >\n  folded\n  words\n\n    indented\n\n  end\nlast: x\n";
        let document = kiln_yaml::parse(text).unwrap().unwrap();
        let value = document.root().get("text").unwrap().value().to_owned();
        let mut list = FunctionList {
            items: vec![Resource::new(document)],
            ..FunctionList::default()
        };
        for _ in 0..3 {
            list.unsettled = vec![0];
            settle(&mut list);
        }
        let after = list.items[0].root().get("text").unwrap();
        assert_eq!(
            (after.value(), after.style()),
            (value.as_str(), Style::FOLDED)
        );
    }

    #[test]
    fn only_strings_are_surely_plain() {
        for text in ["null", "true", "yes", "1", "1e3", "2001-01-01", "~", ""] {
            assert!(!is_surely_plain(text), "{text}");
        }
        assert!(is_surely_plain("web-1.2"));
    }
}
