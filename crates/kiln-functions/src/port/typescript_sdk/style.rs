//! How js-yaml writes strings.

use kiln_yaml::{Document, NodeId, Style};

use super::resolve::{Plain, resolve};

/// Makes a scalar a string, written as by js-yaml.
pub(crate) fn set_text(document: &mut Document, node: NodeId, text: &str) {
    set_style(document, node, style(text, ScalarRole::Value));
    document.set_value(node, text);
    set_style(document, node, style(text, ScalarRole::Value));
}

pub(super) fn new_key(document: &mut Document, text: &str) -> NodeId {
    let node = document.new_scalar(text, "");
    set_style(document, node, style(text, ScalarRole::Key));
    node
}

fn set_style(document: &mut Document, node: NodeId, style: Style) {
    document.set_style(node, style);
    // A plain scalar has no tag; the next reader resolves it.
    let tag = if style == Style::NONE { "" } else { "!!str" };
    document.set_tag(node, tag);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarRole {
    Key,
    Value,
}

fn style(text: &str, place: ScalarRole) -> Style {
    const BOOLEANS: [&str; 16] = [
        "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
        "OFF",
    ];
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else {
        return Style::SINGLE_QUOTED;
    };
    if BOOLEANS.contains(&text) {
        return Style::SINGLE_QUOTED;
    }
    let mut is_plain = is_plain_first(first) && !matches!(last, ' ' | '\t');
    let mut has_line_break = false;
    let mut previous = None;
    for c in text.chars() {
        match c {
            '\n' if place == ScalarRole::Value => has_line_break = true,
            c if !is_printable(c) => return Style::DOUBLE_QUOTED,
            _ => {}
        }
        is_plain = is_plain && is_plain_inside(c, previous);
        previous = Some(c);
    }
    if has_line_break {
        Style::LITERAL
    } else if is_plain && resolve(text) == Plain::String && text != "<<" {
        Style::NONE
    } else {
        Style::SINGLE_QUOTED
    }
}

/// JavaScript splits characters beyond the basic plane into two, neither of which is printable.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn is_plain_inside(c: char, previous: Option<char>) -> bool {
    let is_after_text = || previous.is_some_and(|c| is_printable(c) && c != ' ');
    is_printable(c)
        && !matches!(c, ',' | '[' | ']' | '{' | '}' | ':')
        && (c != '#' || is_after_text())
}

fn is_plain_first(c: char) -> bool {
    is_printable(c) && c != ' ' && !"-?:,[]{}#&*!|=>'\"%@`".contains(c)
}
