//! Keeps the values of Secrets out of reports.
//!
//! Diffs show the size of a value and whether it changed. Every other text is searched for the values themselves, as they are in
//! the file and decoded. A command collects them from all files and from the input and output of every function.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kiln_yaml::{Document, NodeRef, parse_until_error};

/// Shorter values occur in other words, so replacing them would make texts unreadable without hiding anything.
const SHORTEST_VALUE: usize = 4;

/// What texts show in place of a value.
pub(super) const MASKED: &str = "(secret)";

/// The values of all Secrets that a command read or made.
#[derive(Default)]
pub struct SecretValues {
    values: BTreeSet<String>,
}

impl SecretValues {
    /// Adds the values in a file.
    pub fn add_file(&mut self, text: &[u8]) {
        let is_utf16 = text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]);
        let lossy = String::from_utf8_lossy(text);
        if !is_utf16 && !lossy.contains("Secret") {
            return;
        }
        let (documents, error) = parse_until_error(text);
        for document in &documents {
            self.add_document(document);
        }
        if error.is_some() {
            self.add_unreadable(&lossy);
        }
    }

    /// Adds the values in a document: a Secret, or a list that may contain Secrets.
    pub fn add_document(&mut self, document: &Document) {
        self.add_node(document.root());
        let items = document.root().get("items");
        for item in items.into_iter().flat_map(NodeRef::items) {
            self.add_node(item);
        }
    }

    fn add_node(&mut self, node: NodeRef<'_>) {
        if !is_secret(node) {
            return;
        }
        for (_, value) in secret_entries(node) {
            self.add_text(value.value());
        }
    }

    /// Adds what follows the keys of a file that cannot be parsed: the message about it may show any of its lines.
    fn add_unreadable(&mut self, text: &str) {
        let mut is_inside = false;
        for line in text.lines() {
            if !line.starts_with([' ', '\t', '-', '#']) {
                is_inside = ["data:", "stringData:"]
                    .iter()
                    .any(|key| line.starts_with(key));
            }
            if is_inside {
                let value = line.split_once(": ").map_or(line, |(_, value)| value);
                self.add_text(value.trim().trim_matches(['"', '\'']));
            }
        }
    }

    fn add_text(&mut self, value: &str) {
        self.add_value(value);
        if let Some(decoded) = decode_base64(value) {
            self.add_value(&decoded);
        }
    }

    fn add_value(&mut self, value: &str) {
        for line in value.lines().map(str::trim) {
            if line.len() >= SHORTEST_VALUE {
                self.values.insert(line.to_owned());
            }
        }
    }

    /// What replaces the values.
    pub(super) fn into_mask(self) -> SecretMask {
        if self.values.is_empty() {
            return SecretMask(Mask::Nothing);
        }
        // A short value may be a part of a long one.
        let values = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&self.values);
        SecretMask(values.map_or(Mask::Everything, Mask::Values))
    }
}

/// Replaces the values of Secrets in texts.
pub(super) struct SecretMask(Mask);

enum Mask {
    Nothing,
    Values(AhoCorasick),
    /// There are too many values to search for.
    Everything,
}

impl SecretMask {
    /// The text without the values.
    pub(super) fn mask(&self, text: &str) -> String {
        match &self.0 {
            Mask::Nothing => text.to_owned(),
            Mask::Values(values) => {
                let mut masked = String::with_capacity(text.len());
                values.replace_all_with(text, &mut masked, |_, _, masked| {
                    masked.push_str(MASKED);
                    true
                });
                masked
            }
            Mask::Everything => MASKED.to_owned(),
        }
    }

    pub(super) fn mask_in_place(&self, text: &mut String) {
        *text = self.mask(text);
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
    let mut documents = old.iter().chain(&new);
    let has_secrets = documents.any(|document| is_secret(document.root()));
    (old_text, new_text, has_secrets)
}

fn parse(text: &str) -> Vec<Document> {
    parse_until_error(text.as_bytes()).0
}

fn is_secret(node: NodeRef<'_>) -> bool {
    let kind = node.get("kind");
    kind.is_some_and(|kind| kind.has_value("Secret"))
}

/// The keys and values of a Secret's `data` and `stringData`.
fn secret_entries(node: NodeRef<'_>) -> impl Iterator<Item = (NodeRef<'_>, NodeRef<'_>)> {
    let maps = ["data", "stringData"].into_iter();
    maps.filter_map(move |key| node.get(key))
        .flat_map(NodeRef::entries)
}

/// The values with the keys that identify them: name of the Secret and key.
fn identified_values(document: &Document) -> Vec<(String, String)> {
    if !is_secret(document.root()) {
        return Vec::new();
    }
    let entries = secret_entries(document.root());
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
    let secrets = documents.iter().filter(|it| is_secret(it.root()));
    for document in secrets {
        for (key, value) in secret_entries(document.root()) {
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
