//! Keeps the values of Secrets out of the diffs of reports: they show the size of a value and whether it changed.

use std::collections::BTreeSet;
use std::ops::Range;

use kiln_krm::secrets::{is_secret, secret_entries};
use kiln_yaml::{Document, NodeRef, parse_until_error};

use super::changed_files::FileVersion;

/// Both versions of a file with the sizes of secret values in place of the values, and whether there were any.
pub(super) fn mask_versions(before: &FileVersion, after: &FileVersion) -> (String, String, bool) {
    let (old, new) = (&before.documents, &after.documents);
    let known: BTreeSet<(String, String)> = old.iter().flat_map(identified_values).collect();
    let old_text = mask_text(&before.text, old, |_, _| "");
    let new_text = mask_text(&after.text, new, |key, value| {
        match known.contains(&(key.to_owned(), value.to_owned())) {
            true => "",
            false => ", changed",
        }
    });
    let mut documents = old.iter().chain(new);
    let has_secrets = documents.any(|document| is_secret(document.root()));
    (old_text, new_text, has_secrets)
}

/// A document with the sizes of secret values in place of the values.
pub(super) fn mask_document(text: &str) -> String {
    let (documents, _) = parse_until_error(text.as_bytes());
    mask_text(text, &documents, |_, _| "")
}

/// The values with the keys that identify them: name of the Secret and key.
fn identified_values(document: &Document) -> Vec<(String, String)> {
    if !is_secret(document.root()) {
        return Vec::new();
    }
    let entries = secret_entries(document.root());
    entries
        .into_iter()
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
