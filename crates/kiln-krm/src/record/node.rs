//! What a reader asks about single nodes: whether a tag is true, which line it is on.

use kiln_yaml::{Document, NodeRef, Style};

use super::text::decode_base64;

/// What to say of a scalar with a tag of its own that does not look like what the tag says.
pub(crate) fn explicit_tag_lie(node: NodeRef<'_>) -> Option<String> {
    if !node.is_scalar() || !node.style().contains(Style::TAGGED) {
        return None;
    }
    let tag = node.tag();
    if tag == "!!binary" && decode_base64(node.value()).is_none() {
        return Some("!!binary value contains invalid base64 data".to_owned());
    }
    if !matches!(
        tag,
        "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp"
    ) {
        return None;
    }
    let mut scratch = Document::new_mapping();
    let plain = scratch.new_scalar(node.value(), "");
    let looks_like = scratch.node(plain).tag();
    if looks_like == tag || (tag == "!!float" && looks_like == "!!int") {
        return None;
    }
    Some(format!(
        "cannot decode {looks_like} `{}` as a {tag}",
        node.value()
    ))
}

pub(crate) fn is_merge_key(key: NodeRef<'_>) -> bool {
    key.is_scalar() && key.value() == "<<" && key.tag() == "!!merge"
}

pub(crate) fn line(node: NodeRef<'_>) -> usize {
    node.position().map_or(0, |position| position.line)
}

/// The share of reads that may come through aliases: nearly all in small documents, a tenth in large ones.
pub(crate) fn allowed_alias_share(reads: f64) -> f64 {
    const SMALL: f64 = 400_000.0;
    const LARGE: f64 = 4_000_000.0;
    0.99 - 0.89 * ((reads - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0)
}
