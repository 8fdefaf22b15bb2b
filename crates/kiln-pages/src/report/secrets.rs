//! Keeps the values of Secrets out of reports.
//!
//! Diffs show the size of a value and whether it changed. Everything that functions print or report is searched for the values
//! themselves, as they are in the file and decoded.

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kiln_yaml::{Document, NodeRef, parse_until_error};

/// Shorter values occur in other words, so replacing them would make texts unreadable without hiding anything.
const SHORTEST_VALUE: usize = 4;

/// The values of all Secrets of a package.
#[derive(Default)]
pub(super) struct SecretValues {
    values: BTreeSet<String>,
}

impl SecretValues {
    /// Adds the values in a file.
    pub(super) fn add(&mut self, text: &[u8]) {
        let (documents, _) = parse_until_error(text);
        for document in documents.iter().filter(|document| is_secret(document)) {
            for (_, value) in secret_entries(document) {
                self.add_value(value.value());
                if let Some(decoded) = decode_base64(value.value()) {
                    self.add_value(&decoded);
                }
            }
        }
    }

    fn add_value(&mut self, value: &str) {
        for line in value.lines().map(str::trim) {
            if line.len() >= SHORTEST_VALUE {
                self.values.insert(line.to_owned());
            }
        }
    }

    /// The text without the values.
    pub(super) fn mask(&self, text: &str) -> String {
        // Longer values first: a short one may be a part of a long one.
        let mut values: Vec<&String> = self.values.iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let mut text = text.to_owned();
        for value in values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), "(secret)");
            }
        }
        text
    }
}

/// Both versions of a file with the sizes of secret values in place of the values, and whether there were any.
pub(super) fn mask_versions(before: &str, after: &str) -> (String, String, bool) {
    let (old, new) = (parse(before), parse(after));
    let known: BTreeSet<(String, String)> = old.iter().flat_map(identified_values).collect();
    let old_text = mask_text(before, &old, |_, _| "");
    let new_text = mask_text(after, &new, |key, value| {
        match known.contains(&(key.to_owned(), value.to_owned())) {
            true => "",
            false => ", changed",
        }
    });
    let has_secrets = old.iter().chain(&new).any(is_secret);
    (old_text, new_text, has_secrets)
}

fn parse(text: &str) -> Vec<Document> {
    parse_until_error(text.as_bytes()).0
}

fn is_secret(document: &Document) -> bool {
    let kind = document.root().get("kind");
    kind.is_some_and(|kind| kind.has_value("Secret"))
}

/// The keys and values of a Secret's `data` and `stringData`.
fn secret_entries(document: &Document) -> impl Iterator<Item = (NodeRef<'_>, NodeRef<'_>)> {
    let maps = ["data", "stringData"].into_iter();
    maps.filter_map(|key| document.root().get(key))
        .flat_map(NodeRef::entries)
}

/// The values with the keys that identify them: name of the Secret and key.
fn identified_values(document: &Document) -> Vec<(String, String)> {
    if !is_secret(document) {
        return Vec::new();
    }
    let entries = secret_entries(document);
    entries
        .map(|(key, value)| (value_key(document, key), value.value().to_owned()))
        .collect()
}

fn value_key(document: &Document, key: NodeRef<'_>) -> String {
    let name = document.root().get_path(&["metadata", "name"]);
    format!("{}/{}", name.map_or("", NodeRef::value), key.value())
}

fn mask_text(
    text: &str,
    documents: &[Document],
    suffix: impl Fn(&str, &str) -> &'static str,
) -> String {
    let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
    for document in documents.iter().filter(|document| is_secret(document)) {
        for (key, value) in secret_entries(document) {
            let Some(span) = value.span().filter(|span| !span.is_empty()) else {
                continue;
            };
            let changed = suffix(&value_key(document, key), value.value());
            let size = value.value().len();
            replaced.push((span, format!("({size} bytes{changed})")));
        }
    }
    replaced.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, replacement) in replaced {
        // A file with a byte order mark or in UTF-16 was decoded: its spans are not those of `text`.
        let (Some(kept), Some(removed)) = (text.get(at..span.start), text.get(span.clone())) else {
            return "(this file is not shown, because it contains a Secret)\n".to_owned();
        };
        out.push_str(kept);
        out.push_str(&replacement);
        if removed.ends_with('\n') {
            out.push('\n');
        }
        at = span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The text that base64 stands for, if it is text.
fn decode_base64(text: &str) -> Option<String> {
    let packed: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(packed).ok()?;
    String::from_utf8(bytes).ok()
}
