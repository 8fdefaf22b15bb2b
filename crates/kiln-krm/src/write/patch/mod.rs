//! Putting edits into a text at the places of the edited nodes.
//!
//! This is for the edits that most functions make, in lines as the encoder would write them: another value on its line,
//! new fields behind the last line of a mapping. Then the outcome is the text that [`super::keep_lines`] would merge, without
//! writing, comparing and reading whole documents. (Merging also writes a line anew that stands beside a changed one and is
//! not as the encoder would write it; here it stays.) For everything else there is no outcome, and lines are merged.

use std::cmp::Reverse;
use std::ops::Range;

use kiln_yaml::{AddedFields, Document, Edits, NodeRef, SequenceStyle, Slot, Style};

use crate::read::guess_style;

/// Longer keys are left to the encoder, which has a limit.
const LONGEST_KEY: usize = 128;

/// A piece of the text and what stands there instead.
struct Replacement {
    range: Range<usize>,
    text: String,
    column: usize,
}

/// The text of `before` with the edits that lead to `after`; none if they cannot be put in place by place.
pub(crate) fn patch(before: &Document, after: &Document, edits: &Edits) -> Option<String> {
    let text = before.source_text();
    if has_other_line_breaks(text) {
        return None;
    }
    let mut replacements = Vec::with_capacity(edits.values.len() + edits.added.len());
    for (parent, value) in &edits.values {
        let is_flow = before.node(*parent).style().contains(Style::FLOW);
        if is_flow {
            return None;
        }
        replacements.push(replaced_value(
            text,
            before.node(*value),
            after.node(*value),
        )?);
    }
    for added in &edits.added {
        replacements.push(new_lines(text, before, after, added)?);
    }
    // What goes in at one place belongs to mappings inside each other: the inner one comes first.
    replacements.sort_by_key(|it| (it.range.start, Reverse(it.column)));
    let mut patched = String::with_capacity(text.len() + 256);
    let mut from = 0;
    for Replacement {
        range, text: new, ..
    } in replacements
    {
        patched.push_str(text.get(from..range.start)?);
        patched.push_str(&new);
        from = range.end;
    }
    patched.push_str(text.get(from..)?);
    Some(patched)
}

/// Whether a line may end with another character than a line feed, as YAML 1.1 has it.
fn has_other_line_breaks(text: &str) -> bool {
    text.contains('\r') || !text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
}

/// Another value in its line.
fn replaced_value(text: &str, old: NodeRef<'_>, new: NodeRef<'_>) -> Option<Replacement> {
    let is_in_line = |node: NodeRef<'_>| {
        let style = node.style();
        let is_block = style.contains(Style::LITERAL) || style.contains(Style::FOLDED);
        !is_block && !style.contains(Style::TAGGED) && !node.value().contains('\n')
    };
    if !is_in_line(old) || !is_in_line(new) || !old.anchor().is_empty() {
        return None;
    }
    let range = old.span()?;
    let (before, here) = (text.get(..range.start)?, text.get(range.clone())?);
    let behind = line_from(text, range.end)?;
    let is_usual = (follows_key(before) || before.ends_with("- "))
        && !here.is_empty()
        && !here.contains('\n')
        && (behind.is_empty() || behind.starts_with(" #"));
    if !is_usual {
        return None;
    }
    let value = match new.as_plain_line() {
        Some(plain) => plain.to_owned(),
        None => encoded_value(new),
    };
    (!value.contains('\n')).then_some(Replacement {
        range,
        text: value,
        column: 0,
    })
}

/// A scalar as the encoder writes it, without its comments.
fn encoded_value(scalar: NodeRef<'_>) -> String {
    let mut alone = Document::from_node(scalar);
    let root = alone.root().id();
    for slot in Slot::ALL {
        alone.set_comment(root, slot, "");
    }
    let mut value = kiln_yaml::to_string(&alone, SequenceStyle::Compact);
    value.pop();
    value
}

fn follows_key(text: &str) -> bool {
    let key = text.strip_suffix(": ");
    key.is_some_and(|key| key.ends_with(|last: char| !last.is_whitespace()))
}

/// New fields behind the last line of their mapping.
fn new_lines(
    text: &str,
    before: &Document,
    after: &Document,
    added: &AddedFields,
) -> Option<Replacement> {
    let mapping = before.node(added.mapping);
    if mapping.style().contains(Style::FLOW) {
        return new_flow_fields(text, mapping, after, added);
    }
    let (first_key, _) = mapping.entries().next()?;
    let key_start = first_key.span()?.start;
    let line_start = text.get(..key_start)?.rfind('\n').map_or(0, |at| at + 1);
    let column = key_start - line_start;
    // The encoder begins a mapping behind the dash of its item, and a dash behind another one is rare.
    let indent = text.get(line_start..key_start)?.trim_start();
    let line_above = text.get(..line_start)?.trim_end();
    if !matches!(indent, "" | "- ") || line_above.ends_with('-') {
        return None;
    }
    let at = end_of_lines(text, mapping)?;
    let lines = match plain_lines(after, added, column) {
        Some(lines) => lines,
        None => encoded_lines(text, after, added, column)?,
    };
    Some(Replacement {
        range: at..at,
        text: lines,
        column,
    })
}

/// The lines of new fields that are all plain scalars.
fn plain_lines(after: &Document, added: &AddedFields, column: usize) -> Option<String> {
    let mut lines = String::new();
    for (key, value) in added.fields(after) {
        if is_commented(key) || is_commented(value) {
            return None;
        }
        let key = key.as_plain_line().filter(|key| key.len() <= LONGEST_KEY)?;
        let value = value.as_plain_line()?;
        lines.extend(std::iter::repeat_n(' ', column));
        for part in [key, ": ", value, "\n"] {
            lines.push_str(part);
        }
    }
    Some(lines)
}

/// The lines of new fields as the encoder writes them, with the sequence style of the text.
fn encoded_lines(
    text: &str,
    after: &Document,
    added: &AddedFields,
    column: usize,
) -> Option<String> {
    let style = guess_style(text.as_bytes());
    let mut lines = String::new();
    for line in kiln_yaml::to_string(&fields_alone(after, added), style).lines() {
        // Blank lines are part of a text.
        if line.is_empty() {
            return None;
        }
        lines.extend(std::iter::repeat_n(' ', column));
        lines.push_str(line);
        lines.push('\n');
    }
    Some(lines)
}

/// New fields behind the last one of a mapping in braces.
fn new_flow_fields(
    text: &str,
    mapping: NodeRef<'_>,
    after: &Document,
    added: &AddedFields,
) -> Option<Replacement> {
    let (_, last) = mapping.entries().last()?;
    let range = last.span().filter(|range| !range.is_empty())?;
    let is_usual = match last.is_empty() {
        true => !last.style().contains(Style::TAGGED),
        false => text.get(range.clone())?.ends_with([']', '}']),
    };
    if is_commented(last) || !is_usual {
        return None;
    }
    let mut fields = fields_alone(after, added);
    let root = fields.root().id();
    fields.set_style(root, Style::FLOW);
    let fields = kiln_yaml::to_string(&fields, SequenceStyle::Compact);
    let fields = fields.strip_prefix('{')?.strip_suffix("}\n")?;
    (!fields.contains('\n')).then(|| Replacement {
        range: range.end..range.end,
        text: format!(", {fields}"),
        column: 0,
    })
}

fn is_commented(node: NodeRef<'_>) -> bool {
    let mut slots = Slot::ALL.into_iter();
    slots.any(|slot| !node.comment(slot).is_empty())
}

/// The new fields as a document of their own.
fn fields_alone(after: &Document, added: &AddedFields) -> Document {
    let mut fields = Document::new_mapping();
    let root = fields.root().id();
    for (key, value) in added.fields(after) {
        let (key, value) = (fields.import(key), fields.import(value));
        fields.push_entry(root, key, value);
    }
    fields
}

/// Where the line behind a collection begins, if it is certain that nothing there belongs to the collection.
fn end_of_lines(text: &str, collection: NodeRef<'_>) -> Option<usize> {
    let mut node = collection;
    let last = loop {
        let is_block = !node.style().contains(Style::FLOW);
        let (key, last) = match node.is_mapping() {
            true => node
                .entries()
                .last()
                .map(|(key, value)| (Some(key), value))?,
            false => (None, node.items().last()?),
        };
        let has_foot = |node: NodeRef<'_>| !node.comment(Slot::Foot).is_empty();
        if !is_block || has_foot(node) || has_foot(last) || key.is_some_and(has_foot) {
            return None;
        }
        node = last;
        let is_open = !node.is_empty() && !node.style().contains(Style::FLOW);
        if !is_open {
            break node;
        }
    };
    let is_text = last.style().contains(Style::LITERAL) || last.style().contains(Style::FOLDED);
    let range = last.span()?;
    let here = text.get(range.clone())?;
    if is_text || here.is_empty() || here.contains('\n') {
        return None;
    }
    let behind = line_from(text, range.end)?;
    let next = range.end + behind.len() + 1;
    let following = text.get(next..)?.trim_start();
    (!following.starts_with('#')).then_some(next)
}

/// The rest of a line that ends with a line break.
fn line_from(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    rest.get(..rest.find('\n')?)
}

#[cfg(test)]
mod tests;
