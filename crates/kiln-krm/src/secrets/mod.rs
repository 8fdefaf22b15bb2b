//! The values of Secrets, and texts without them.
//!
//! Texts for people (logs, errors, reports) are searched for the values of the Secrets that a command knows, as they are in the
//! file, decoded, in base64, and with the escapes of printed structures; a value may have values of its own. Other resources and
//! configurations are treated like Secrets if they have the annotation [`SECRET`].

mod contained;
mod spellings;

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kiln_go::atoi;
use kiln_yaml::{Document, NodeRef, parse_until_error};
use memchr::memmem;

use crate::package::WriteError;
use crate::results::{Field, File, FunctionResult, ResourceRef, ResultItem};
use contained::contained_values;
use spellings::{encoded, shortened, spellings};

/// `true` marks a resource whose values are secret.
pub const SECRET: &str = "kiln.dev/secret";

/// Shorter values occur in other words, so replacing them would make texts unreadable without hiding anything.
const SHORTEST_VALUE: usize = 4;

/// Longer lines are searched for in pieces, of which programs may print some. The search for a long text is also slow to build.
const PIECE: usize = 256;

/// How deep a value is searched for other values: JSON in base64, for example, is two deep.
const DEPTH: usize = 4;

/// Values that are no secret wherever they stand.
const WORDS: [&str; 3] = ["true", "false", "null"];

/// What texts show in place of a value.
pub const MASKED: &str = "(secret)";

/// The values of all Secrets that a command read or made.
#[derive(Default)]
pub struct SecretValues {
    values: BTreeSet<String>,
}

impl SecretValues {
    /// Adds the values in a file, as far as it can be parsed.
    pub fn add_file(&mut self, text: &[u8]) {
        let is_utf16 = text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]);
        let lossy = String::from_utf8_lossy(text);
        if !is_utf16 && !lossy.contains("Secret") && !lossy.contains(SECRET) {
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

    /// Adds a value, and the values that it contains.
    fn add_text(&mut self, value: &str) {
        let mut level = vec![value.to_owned()];
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for value in &level {
                self.add_lines(value);
                let decoded = decode_base64(value);
                // Many words are base64 of something, too.
                if decoded.is_none() || value.len() < PIECE {
                    self.add_encoded(value);
                }
                next.extend(decoded);
                next.extend(contained_values(value));
            }
            level = next;
        }
    }

    fn add_lines(&mut self, value: &str) {
        for line in value.lines().map(str::trim).filter(|line| is_value(line)) {
            self.values.extend(pieces(line).flat_map(spellings));
            self.values.extend(shortened(line));
        }
    }

    /// Adds a value as `data` of a Secret has it.
    fn add_encoded(&mut self, value: &str) {
        if !is_value(value.trim()) {
            return;
        }
        for text in encoded(value) {
            self.values.extend(pieces(&text).map(str::to_owned));
        }
    }

    /// What replaces the values.
    pub fn into_mask(self) -> SecretMask {
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
pub struct SecretMask(Mask);

enum Mask {
    Nothing,
    Values(AhoCorasick),
    /// There are too many values to search for.
    Everything,
}

impl SecretMask {
    /// The text without the values.
    pub fn mask(&self, text: &str) -> String {
        match &self.0 {
            Mask::Nothing => text.to_owned(),
            Mask::Values(values) => {
                let mut masked = String::with_capacity(text.len());
                let mut end = None;
                values.replace_all_with(text, &mut masked, |found, _, masked| {
                    // The pieces of a value are shown as one.
                    if end != Some(found.start()) {
                        masked.push_str(MASKED);
                    }
                    end = Some(found.end());
                    true
                });
                masked
            }
            Mask::Everything => MASKED.to_owned(),
        }
    }

    pub fn mask_in_place(&self, text: &mut String) {
        *text = self.mask(text);
    }

    /// Replaces the values in everything that a function printed and reported. The names of the resources that it got are no
    /// secret, even if a value is a part of one.
    pub fn mask_result(&self, result: &mut FunctionResult, is_name: impl Fn(&str) -> bool) {
        let mask_name = |text: &mut String| {
            if !is_name(text) {
                self.mask_in_place(text);
            }
        };
        self.mask_in_place(&mut result.stderr);
        for item in &mut result.results {
            let has_severity = item.known_severity().is_some();
            let ResultItem {
                message,
                severity,
                resource_ref,
                field,
                file,
                tags,
            } = item;
            self.mask_in_place(message);
            if !has_severity {
                self.mask_in_place(severity);
            }
            if let Some(resource_ref) = resource_ref {
                let ResourceRef {
                    api_version,
                    kind,
                    name,
                    namespace,
                } = resource_ref;
                [api_version, kind, name, namespace]
                    .into_iter()
                    .for_each(mask_name);
            }
            if let Some(field) = field {
                let Field {
                    path,
                    current_value,
                    proposed_value,
                } = field;
                [path, current_value, proposed_value]
                    .into_iter()
                    .for_each(|text| self.mask_in_place(text));
            }
            if let Some(File { path, index: _ }) = file {
                mask_name(path);
            }
            *tags = std::mem::take(tags)
                .into_iter()
                .map(|(key, value)| (self.mask(&key), self.mask(&value)))
                .collect();
        }
    }

    /// Replaces the values in paths and annotations, which functions set.
    #[must_use]
    pub fn mask_write_error(&self, error: WriteError) -> WriteError {
        match error {
            WriteError::Outside { package, path } => WriteError::Outside {
                package,
                path: self.mask(&path),
            },
            WriteError::Directory(path) => WriteError::Directory(self.mask(&path)),
            WriteError::NulInPath(path) => WriteError::NulInPath(self.mask(&path)),
            WriteError::PathTooLong(path) => WriteError::PathTooLong(self.mask(&path)),
            WriteError::NotRead(path) => WriteError::NotRead(self.mask(&path)),
            WriteError::GitFile(path) => WriteError::GitFile(self.mask(&path)),
            WriteError::Index { index, reason } => {
                let masked = self.mask(&index);
                match atoi(&masked) {
                    // The reason has the text as well.
                    Err(reason) if masked != index => WriteError::Index {
                        index: masked,
                        reason,
                    },
                    _ => WriteError::Index { index, reason },
                }
            }
            error @ (WriteError::MissingMetadata
            | WriteError::MissingAnnotation(_)
            | WriteError::AbsolutePath
            | WriteError::Encode(_)) => error,
        }
    }
}

/// Whether the values of a resource are secret.
pub fn is_secret(node: NodeRef<'_>) -> bool {
    let kind = node.get("kind");
    let is_marked = || {
        let mark = node.get_path(&["metadata", "annotations", SECRET]);
        mark.is_some_and(|mark| mark.has_value("true"))
    };
    kind.is_some_and(|kind| kind.has_value("Secret")) || is_marked()
}

/// The values of a resource that is secret, each with its key: those of `data` and `stringData`, or all that are not metadata if
/// it is not a Secret.
pub fn secret_entries(node: NodeRef<'_>) -> Vec<(NodeRef<'_>, NodeRef<'_>)> {
    let is_kind = node
        .get("kind")
        .is_some_and(|kind| kind.has_value("Secret"));
    let is_value = |key: &str| match is_kind {
        true => matches!(key, "data" | "stringData"),
        false => !matches!(key, "apiVersion" | "kind" | "metadata"),
    };
    let fields = node.entries();
    let mut pending: Vec<_> = fields.filter(|(key, _)| is_value(key.value())).collect();
    pending.reverse();
    let mut found = Vec::new();
    while let Some((key, value)) = pending.pop() {
        if value.is_scalar() {
            found.push((key, value));
            continue;
        }
        let at = pending.len();
        pending.extend(value.entries());
        pending.extend(value.items().map(|item| (key, item)));
        // In their order.
        pending.get_mut(at..).unwrap_or_default().reverse();
    }
    found
}

/// Whether a text may have a Secret. For a document that cannot be parsed, and for a list that nothing else needs to be parsed
/// for.
pub fn may_have_secrets(text: &[u8]) -> bool {
    let has = |part: &str| memmem::find(text, part.as_bytes()).is_some();
    if !has("Secret") && !has(SECRET) {
        return false;
    }
    let text = String::from_utf8_lossy(text);
    let mut after_key = text.split("kind").skip(1);
    let is_kind = |rest: &str| {
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let value = rest.strip_prefix(':').map(str::trim_start);
        let value = value.map(|value| value.trim_start_matches(['"', '\'']));
        let rest = value.and_then(|value| value.strip_prefix("Secret"));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    after_key.any(is_kind) || text.contains(SECRET)
}

/// Whether a line is long enough to be searched for.
fn is_value(line: &str) -> bool {
    line.len() >= SHORTEST_VALUE && !WORDS.contains(&line)
}

/// The parts of a line, none of which is short if the line is not.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        if text.len() < 2 * PIECE {
            return Some(text);
        }
        let (piece, left) = text.split_at(text.floor_char_boundary(PIECE));
        rest = Some(left);
        Some(piece)
    })
}

/// The text that base64 stands for, if it is text.
fn decode_base64(text: &str) -> Option<String> {
    let packed: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(packed).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
