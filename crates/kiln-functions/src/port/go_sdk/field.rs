//! Fields by path.

use kiln_yaml::{Document, NodeId, NodeRef, Slot, Style};

/// A field on the path, or at its end, has the wrong type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongType;

/// What a new value keeps of the one it replaces, by release of the SDK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Formatting {
    /// Its comments, before version 1.0.
    Comments,
    /// Its comments and its style, since 1.0.
    CommentsAndStyle,
}

/// The value of a key, which must be a string.
pub fn field<'a>(mapping: NodeRef<'a>, key: &str) -> Option<NodeRef<'a>> {
    let is_key = |name: NodeRef<'_>| name.has_value(key) && name.is_string();
    let mut entries = mapping.entries();
    entries
        .find(|(name, _)| is_key(*name))
        .map(|(_, value)| value)
}

/// The value at a path of keys.
pub fn nested<'a>(node: NodeRef<'a>, path: &[&str]) -> Result<Option<NodeRef<'a>>, WrongType> {
    let mut current = node;
    for (depth, key) in path.iter().enumerate() {
        if depth > 0 && !current.is_mapping() {
            return Err(WrongType);
        }
        match field(current, key) {
            Some(value) => current = value,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

/// The string at a path of keys; numbers, booleans and nulls are not strings.
pub fn nested_text<'a>(node: NodeRef<'a>, path: &[&str]) -> Result<Option<&'a str>, WrongType> {
    match nested(node, path)? {
        None => Ok(None),
        Some(value) if value.is_string() => Ok(Some(value.value())),
        Some(_) => Err(WrongType),
    }
}

/// The mappings in the sequence at a key; empty if an item is not a mapping.
pub fn slice<'a>(node: NodeRef<'a>, key: &str) -> Vec<NodeRef<'a>> {
    let items = field(node, key).filter(|value| value.is_sequence());
    let items: Vec<NodeRef<'_>> = items.into_iter().flat_map(NodeRef::items).collect();
    match items.iter().all(|item| item.is_mapping()) {
        true => items,
        false => Vec::new(),
    }
}

/// Sets the string at a path of keys below a node, and creates missing mappings.
pub fn set_text(
    document: &mut Document,
    node: NodeId,
    path: &[&str],
    text: &str,
    formatting: Formatting,
) -> Result<(), WrongType> {
    let Some((last, way)) = path.split_last() else {
        return Err(WrongType);
    };
    let mut current = node;
    for key in way {
        let next = field(document.node(current), key).map(|next| (next.id(), next.is_mapping()));
        current = match next {
            Some((next, true)) => next,
            Some((_, false)) => return Err(WrongType),
            None => {
                let mapping = document.new_mapping_node();
                let key = document.new_string(key);
                document.push_entry(current, key, mapping);
                mapping
            }
        };
    }
    if !document.node(current).is_mapping() {
        return Err(WrongType);
    }
    let Some(old) = field(document.node(current), last) else {
        let (key, value) = (document.new_string(last), document.new_string(text));
        document.push_entry(current, key, value);
        return Ok(());
    };
    let (id, is_scalar) = (old.id(), old.is_scalar());
    let is_set = old.is_string() && old.has_value(text) && old.anchor().is_empty();
    match (is_scalar, formatting) {
        (true, Formatting::CommentsAndStyle) if is_set => {}
        (true, formatting) => {
            document.set_value(id, text);
            document.set_tag(id, "!!str");
            document.set_anchor(id, "");
            if formatting == Formatting::Comments {
                document.set_style(id, Style::NONE);
            }
        }
        (false, formatting) => {
            let comments = Slot::ALL.map(|slot| (slot, document.node(id).comment(slot).to_owned()));
            let value = document.new_string(text);
            document.replace_child(current, id, value);
            if formatting == Formatting::Comments {
                for (slot, comment) in comments {
                    document.set_comment(value, slot, &comment);
                }
            }
        }
    }
    Ok(())
}
