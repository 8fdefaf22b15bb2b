//! Keeps the values of Secrets out of the diffs of reports: they show the size of a value and whether it changed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use kiln_krm::secrets::{SecretMask, is_secret, secret_entries};
use kiln_yaml::{Document, NodeRef, Style, parse_until_error};

use super::changed_files::FileVersion;
use crate::parts::counted;

/// Where `kubectl apply` keeps a resource as it was, with all values.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A part of a text, and what replaces it.
type MaskedPart = (Range<usize>, String);

/// Both versions of a file with the sizes of secret values in place of the values, and whether there were any.
pub(super) fn mask_versions<'a>(
    before: &'a FileVersion<'_>,
    after: &'a FileVersion<'_>,
    secrets: &SecretMask,
) -> (Cow<'a, str>, Cow<'a, str>, bool) {
    let (old, new) = (&before.documents, &after.documents);
    let known: BTreeSet<(String, String)> = old.iter().flat_map(identified_values).collect();
    let old_text = mask_text(&before.text, old, secrets, |_, _| "");
    let new_text = mask_text(&after.text, new, secrets, |key, value| {
        match known.contains(&(key.to_owned(), value.to_owned())) {
            true => "",
            false => ", changed",
        }
    });
    let mut documents = old.iter().chain(new);
    let has_secrets = documents.any(|document| !secret_resources(document).is_empty());
    (old_text, new_text, has_secrets)
}

/// A document with the sizes of secret values in place of the values.
pub(super) fn mask_document(text: &str, secrets: &SecretMask) -> String {
    let (documents, _) = parse_until_error(text.as_bytes());
    mask_text(text, &documents, secrets, |_, _| "").into_owned()
}

/// The secret resources of a document: the document, or items of a list. The items of a SecretList need no kind.
pub(super) fn secret_resources(document: &Document) -> Vec<NodeRef<'_>> {
    let root = document.root();
    let kind = root.get("kind");
    let is_list = kind.is_some_and(|kind| kind.has_value("SecretList"));
    let items = root.get("items").into_iter().flat_map(NodeRef::items);
    let items = items.filter(|item| is_list || is_secret(*item));
    let own = is_secret(root).then_some(root);
    own.into_iter().chain(items).collect()
}

/// The values with the keys that identify them: name of the Secret and key.
fn identified_values(document: &Document) -> Vec<(String, String)> {
    let resources = secret_resources(document).into_iter();
    let values = resources.flat_map(|resource| {
        let entries = secret_entries(resource).into_iter();
        entries.map(move |(key, value)| (value_key(resource, key), value.value().to_owned()))
    });
    values.collect()
}

fn value_key(resource: NodeRef<'_>, key: NodeRef<'_>) -> String {
    let name = resource.get_path(&["metadata", "name"]);
    format!("{}/{}", name.map_or("", NodeRef::value), key.value())
}

fn mask_text<'a>(
    text: &'a str,
    documents: &[Document],
    secrets: &SecretMask,
    suffix: impl Fn(&str, &str) -> &'static str,
) -> Cow<'a, str> {
    let mut replaced: Vec<MaskedPart> = Vec::new();
    for document in documents {
        let items = document.root().get("items").into_iter();
        let resources = secret_resources(document);
        let starts = match resources.is_empty() {
            true => Vec::new(),
            false => items.flat_map(NodeRef::items).filter_map(start).collect(),
        };
        let ends = Ends {
            text,
            items: starts,
        };
        for resource in resources {
            let mut values = values(resource, &suffix);
            values.sort_by_key(|(span, _)| span.start);
            replaced.extend(comments(&ends, resource, &values));
            replaced.extend(values);
        }
        replaced.extend(other_spellings(text, document, secrets));
    }
    if replaced.is_empty() {
        return Cow::Borrowed(text);
    }
    replaced.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, replacement) in replaced {
        // A value may be found as one of a Secret and in another spelling.
        if span.start < at {
            continue;
        }
        // The spans are those of another text, if this one has characters that are not valid.
        let (Some(kept), Some(removed)) = (text.get(at..span.start), text.get(span.clone())) else {
            return Cow::Borrowed("(this file is not shown, because it contains a Secret)\n");
        };
        out.push_str(kept);
        out.push_str(&replacement);
        if removed.ends_with('\n') {
            out.push('\n');
        }
        at = span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// The sizes of the values of a secret resource.
fn values(resource: NodeRef<'_>, suffix: impl Fn(&str, &str) -> &'static str) -> Vec<MaskedPart> {
    let entries = secret_entries(resource).into_iter();
    let annotations = resource.get_path(&["metadata", "annotations"]);
    let last_applied = annotations.and_then(|annotations| annotations.entry(LAST_APPLIED));
    let sizes = entries.chain(last_applied).filter_map(|(key, value)| {
        let span = value.span().filter(|span| !span.is_empty())?;
        let changed = suffix(&value_key(resource, key), value.value());
        let size = counted(value.value().len(), "byte");
        Some((span, format!("({size}{changed})")))
    });
    sizes.collect()
}

fn start(node: NodeRef<'_>) -> Option<usize> {
    node.span().map(|span| span.start)
}

/// Where the resources of a document end, with the comments behind the last field, which belong to no node.
struct Ends<'a> {
    text: &'a str,
    /// Where the items of a list begin.
    items: Vec<usize>,
}

impl Ends<'_> {
    fn of(&self, span: &Range<usize>) -> usize {
        let later = self.items.partition_point(|item| *item <= span.start);
        if let Some(next) = self.items.get(later) {
            return *next;
        }
        let before = self.text.get(..span.end).unwrap_or(self.text);
        let from = before.trim_end().len();
        let rest = self.text.get(from..).unwrap_or_default();
        rest.find("\n---")
            .map_or(self.text.len(), |length| from + length)
    }
}

/// The comments among the values of a secret resource, which often are older values. `values` are in order.
fn comments(ends: &Ends<'_>, resource: NodeRef<'_>, values: &[MaskedPart]) -> Vec<MaskedPart> {
    let mut found = Vec::new();
    let Some(whole) = resource.span() else {
        return found;
    };
    let end = ends.of(&whole);
    let keys: Vec<NodeRef<'_>> = resource.entries().map(|(key, _)| key).collect();
    for (index, key) in keys.iter().enumerate() {
        if ["apiVersion", "kind", "metadata", "type"].contains(&key.value()) {
            continue;
        }
        let Some(mut at) = start(*key) else {
            continue;
        };
        let next = keys.get(index + 1).copied().and_then(start);
        let field = at..next.unwrap_or(end);
        let inside = values.iter().map(|(span, _)| span);
        for value in inside.filter(|span| field.contains(&span.start)) {
            found.extend(comments_between(ends.text, at..value.start));
            at = value.end;
        }
        found.extend(comments_between(ends.text, at..field.end));
    }
    found
}

/// The comments in a part of a text that has no values.
fn comments_between(text: &str, part: Range<usize>) -> Vec<MaskedPart> {
    let mut found = Vec::new();
    let mut start = part.start;
    for line in text.get(part).unwrap_or_default().split_inclusive('\n') {
        let is_start = |index: usize| match line.get(..index) {
            Some(before) => before.is_empty() || before.ends_with([' ', '\t']),
            None => false,
        };
        if let Some((index, _)) = line.match_indices('#').find(|(index, _)| is_start(*index)) {
            let end = start + line.trim_end().len();
            found.push((start + index..end, "# (comment)".to_owned()));
        }
        start += line.len();
    }
    found
}

/// The scalars with a secret value that the text does not have as it is: it is quoted, escaped or folded there.
fn other_spellings(text: &str, document: &Document, secrets: &SecretMask) -> Vec<MaskedPart> {
    let mut found = Vec::new();
    document.root().visit(|visit| {
        for scalar in [visit.key(), Some(visit.node)].into_iter().flatten() {
            found.extend(other_spelling(text, scalar, secrets));
        }
    });
    found
}

fn other_spelling(text: &str, scalar: NodeRef<'_>, secrets: &SecretMask) -> Option<MaskedPart> {
    let span = scalar.span()?;
    let (written, value) = (text.get(span.clone())?, scalar.value());
    // The lines of a literal block are in the text as they are.
    if scalar.style().contains(Style::LITERAL) || written.contains(value) {
        return None;
    }
    let masked = secrets.mask(value);
    if masked == value {
        return None;
    }
    let quote = written.get(..1).filter(|first| ["'", "\""].contains(first));
    let quote = quote.unwrap_or_default();
    let line = masked.trim_end().replace('\n', "\\n");
    Some((span, format!("{quote}{line}{quote}")))
}
