//! Single nodes: style, properties and text.

use super::{EmitWalk, Layout, MAX_SIMPLE_KEY, NodeRole};
use crate::emit::analyze::{Allows, analyze, is_multiline};
use crate::node::{Kind, KnownTag, Style, Tag};
use crate::noderef::NodeRef;
use crate::resolve::resolve;

impl<'a> EmitWalk<'a, '_> {
    /// Writes a scalar or an alias, or begins a collection.
    pub(super) fn node(&mut self, node: NodeRef<'a>, place: NodeRole, is_key: bool) {
        match node.kind() {
            Kind::Alias => {
                self.sink.separate("*");
                self.sink.out.push_str(node.value());
            }
            Kind::Scalar => self.scalar(node, place),
            Kind::Sequence | Kind::Mapping => {
                self.write_properties(node, self.shown_collection_tag(node));
                let flow = self.flow_level > 0
                    || node.style().contains(Style::FLOW)
                    || self.is_empty(node);
                let layout = match (node.kind(), flow) {
                    (Kind::Sequence, true) => Layout::FlowSequence,
                    (Kind::Sequence, false) => Layout::BlockSequence,
                    (_, true) => Layout::FlowMapping,
                    (_, false) => Layout::BlockMapping,
                };
                self.open(node, layout, is_key);
            }
        }
    }

    pub(super) fn scalar(&mut self, node: NodeRef<'a>, place: NodeRole) {
        let text = node.value();
        let (tag, must_quote) = shown_scalar_tag(node);
        let allows = analyze(text);
        let wanted = wanted_style(node, allows, must_quote);
        let style = self.possible_style(wanted, text, allows, place);
        self.write_properties(node, tag);
        let indent = self.indent.map_or(2, |indent| indent + 2);
        match style {
            Style::DOUBLE_QUOTED => self.sink.double_quoted(text),
            Style::SINGLE_QUOTED => self.sink.single_quoted(text, indent),
            Style::LITERAL | Style::FOLDED => {
                let literal = style == Style::LITERAL;
                self.sink.separate(if literal { "|" } else { ">" });
                self.sink.block_hints(text);
                if self.line.is_empty() {
                    self.sink.line_break();
                } else {
                    let outer = self.indent.replace(indent);
                    self.write_line();
                    self.indent = outer;
                }
                if literal {
                    self.sink.literal_text(text, indent);
                } else {
                    self.sink.folded_text(text, indent);
                }
            }
            _ => self.sink.plain(text),
        }
    }

    /// The style that the text and the role of the node allow.
    pub(super) fn possible_style(
        &self,
        wanted: Style,
        text: &str,
        allows: Allows,
        place: NodeRole,
    ) -> Style {
        let in_flow = self.flow_level > 0;
        let is_simple_key = place == NodeRole::SimpleKey;
        let mut style = wanted;
        if is_simple_key && allows.multiline {
            style = Style::DOUBLE_QUOTED;
        }
        if style == Style::NONE {
            let allowed = if in_flow {
                allows.plain_in_flow
            } else {
                allows.plain_in_block
            };
            if !allowed || (text.is_empty() && (in_flow || is_simple_key)) {
                style = Style::SINGLE_QUOTED;
            }
        }
        if style == Style::SINGLE_QUOTED && !allows.single_quoted {
            style = Style::DOUBLE_QUOTED;
        }
        if matches!(style, Style::LITERAL | Style::FOLDED)
            && (!allows.block || in_flow || is_simple_key)
        {
            style = Style::DOUBLE_QUOTED;
        }
        style
    }

    pub(super) fn is_simple_key(&self, key: NodeRef<'a>) -> bool {
        let tag_length = |tag: Option<&str>| tag.map_or(0, str::len);
        let length = match key.kind() {
            Kind::Alias => key.value().len(),
            Kind::Scalar => {
                let text = key.value();
                // What stands in the source as it is has no break in it.
                if key.is_put_together() && is_multiline(text) {
                    return false;
                }
                key.anchor().len() + tag_length(shown_scalar_tag(key).0) + text.len()
            }
            Kind::Sequence | Kind::Mapping => {
                if !self.is_empty(key) {
                    return false;
                }
                key.anchor().len() + tag_length(self.shown_collection_tag(key))
            }
        };
        length <= MAX_SIMPLE_KEY
    }

    // ---- properties ------------------------------------------------------------------------------------

    pub(super) fn write_properties(&mut self, node: NodeRef<'a>, tag: Option<&str>) {
        let anchor = node.anchor();
        if !anchor.is_empty() {
            self.sink.separate("&");
            self.sink.out.push_str(anchor);
        }
        if let Some(tag) = tag {
            self.write_tag(tag);
        }
    }

    pub(super) fn write_tag(&mut self, tag: &str) {
        self.sink.blank();
        if tag.len() > 1 && tag.starts_with('!') {
            let handle = if tag.starts_with("!!") { 2 } else { 1 };
            self.sink.out.push_str(&tag[..handle]);
            self.write_tag_text(&tag[handle..]);
        } else {
            self.sink.out.push_str("!<");
            self.write_tag_text(tag);
            self.sink.out.push('>');
        }
        self.sink.whitespace = false;
        self.sink.indention = false;
    }

    pub(super) fn write_tag_text(&mut self, text: &str) {
        for byte in text.bytes() {
            let plain = byte.is_ascii_alphanumeric() || b"-_;/?:@&=+$,.~*'()[]".contains(&byte);
            if plain {
                self.sink.out.push(byte as char);
            } else {
                self.sink.out.push_str(&format!("%{byte:02X}"));
            }
        }
    }

    pub(super) fn shown_collection_tag(&self, node: NodeRef<'a>) -> Option<&'a str> {
        let natural = match node.kind() {
            Kind::Sequence => Tag::Known(KnownTag::Seq),
            _ => Tag::Known(KnownTag::Map),
        };
        let tag = node.stored_tag();
        let shown =
            node.style().contains(Style::TAGGED) || (tag != natural && tag != Tag::Implicit);
        (shown && !node.tag().is_empty()).then(|| node.tag())
    }
}

/// The tag to write, and whether the text must be quoted to stay a string.
fn shown_scalar_tag(node: NodeRef<'_>) -> (Option<&str>, bool) {
    let style = node.style();
    let tag = node.stored_tag();
    if tag == Tag::Implicit {
        return (None, false);
    }
    if style.contains(Style::TAGGED) {
        let tag = node.tag();
        return ((!tag.is_empty()).then_some(tag), false);
    }
    let is_string = tag == Tag::Known(KnownTag::Str);
    if is_string && style.is_quoted_or_block() {
        return (None, false);
    }
    if Tag::Known(resolve(node.value())) == tag {
        (None, false)
    } else if is_string {
        (None, true)
    } else {
        (Some(node.tag()), false)
    }
}

/// The style the node asks for.
fn wanted_style(node: NodeRef<'_>, allows: Allows, must_quote: bool) -> Style {
    let style = node.style();
    if style.is_quoted_or_block() {
        let styles = [
            Style::DOUBLE_QUOTED,
            Style::SINGLE_QUOTED,
            Style::LITERAL,
            Style::FOLDED,
        ];
        let wanted = styles.into_iter().find(|wanted| style.contains(*wanted));
        return wanted.unwrap_or_default();
    }
    if allows.multiline && memchr::memchr(b'\n', node.value().as_bytes()).is_some() {
        // Inside flow collections this turns into double quotes further on.
        Style::LITERAL
    } else if must_quote {
        Style::DOUBLE_QUOTED
    } else {
        Style::NONE
    }
}
