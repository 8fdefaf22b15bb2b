//! What must hold for any input. Each function is a fuzz target; a broken promise is a panic.

pub mod bounded;
mod grpc;
mod layer_unpack;
mod native;
mod oci;
mod rego;
mod starlark;
mod value;
mod wasm;
mod worker;

pub use grpc::grpc_request;
pub use layer_unpack::layer_unpack;
pub use native::native;
pub use oci::{oci_layer, oci_manifest};
pub use rego::rego;
pub use starlark::starlark;
pub use wasm::wasm;
pub use worker::worker_frames;

use kiln_krm::kptfile::Kptfile;
use kiln_krm::roundtrip;
use kiln_yaml::{
    Document, EditError, Encoder, NodeId, SequenceStyle, Slot, Style, parse_all, parse_until_error,
};

/// What ends a line in YAML 1.1, as it can occur in a value.
const LINE_BREAKS: [char; 4] = ['\n', '\u{85}', '\u{2028}', '\u{2029}'];

const STYLES: [SequenceStyle; 2] = [SequenceStyle::Compact, SequenceStyle::Wide];

/// No input makes the parser or the encoder panic, and places lie inside the input.
pub fn parse(input: &[u8]) {
    let (documents, error) = parse_until_error(input);
    for document in &documents {
        for id in ids(document) {
            let place = document.node(id).position();
            let place = place.expect("a node that was read has a place");
            assert!(place.line > 0 && place.column > 0);
        }
        for style in STYLES {
            kiln_yaml::to_string(document, style);
        }
    }
    if let Some(error) = error {
        let place = error.position();
        assert!(place.line > 0 && place.column > 0);
        assert!(!error.report("input", 0).is_empty());
    }
}

/// What was written reads back as the same values, and is written the same way again.
///
/// The bytes are those of go-yaml, which does not keep this promise for every stream. Measured with it on some
/// 42,000 made-up streams (19,000 accepted), it fails in these ways and no others:
///
/// - folded scalars gain blank lines ([`has_folded`]);
/// - a literal that begins with a tab is written without saying where its indentation ends, and then refused
///   ([`has_leading_tab`]);
/// - a document without any text is written as an empty line, which is no document ([`is_empty`]);
/// - comments move to other nodes, or change what is around them: see [`comments_are_harmless`].
///
/// So: without comments (they are taken out first) and without the first three, everything must hold; with its
/// comments, a stream's values must survive where comments are harmless.
pub fn roundtrip(input: &[u8]) {
    let Ok(documents) = parse_all(input) else {
        return;
    };
    if documents
        .iter()
        .any(|document| has_folded(document) || has_leading_tab(document) || is_empty(document))
    {
        return;
    }
    let bare: Vec<Document> = documents.iter().map(without_comments).collect();
    for style in STYLES {
        let first = emit(&bare, style);
        let again = parse_all(first.as_bytes());
        let again =
            again.unwrap_or_else(|error| panic!("refused what was written: {error}\n{first}"));
        value::assert_same(&bare, &again, &first);
        let second = emit(&again, style);
        assert_eq!(first, second, "written differently the second time");
    }
    if documents.iter().all(comments_are_harmless) {
        let first = emit(&documents, SequenceStyle::Compact);
        let again = parse_all(first.as_bytes());
        let again =
            again.unwrap_or_else(|error| panic!("refused what was written: {error}\n{first}"));
        value::assert_same(&documents, &again, &first);
    }
}

/// What was set is there, and an edit that found nothing to do changed nothing.
///
/// The input's first line is `key=value`, the rest is the text to edit.
pub fn edit(input: &[u8]) {
    let Some((key, value, text)) = split_edit(input) else {
        return;
    };
    let Ok(Some(document)) = kiln_yaml::parse(text) else {
        return;
    };
    const ANNOTATION: usize = 0;
    let all: [Edit; 4] = [
        |doc, key, value| doc.root_mut().set_annotation(key, value),
        |doc, key, value| doc.root_mut().set_label(key, value),
        |doc, key, value| doc.root_mut().set_string(&["spec", key], value),
        |doc, key, value| doc.root_mut().set_string(&[key], value),
    ];
    for (number, set) in all.into_iter().enumerate() {
        let mut edited = document.clone();
        match set(&mut edited, key, value) {
            Ok(Some(id)) => {
                assert_eq!(edited.node(id).value(), value);
                assert!(!edited.is_unchanged());
            }
            // An empty `metadata` is dropped before an annotation is set, even if it then cannot be.
            Ok(None) => assert!(number == ANNOTATION || edited.is_unchanged()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        kiln_yaml::to_string(&edited, SequenceStyle::Wide);
    }
    let mut edited = document.clone();
    if let Ok(false) = edited.root_mut().remove(&["metadata", key]) {
        assert!(edited.is_unchanged());
    }
}

/// Sets a key to a value somewhere and returns the node now in place.
type Edit = fn(&mut Document, &str, &str) -> Result<Option<NodeId>, EditError>;

fn split_edit(input: &[u8]) -> Option<(&str, &str, &str)> {
    let (edit, text) = str::from_utf8(input).ok()?.split_once('\n')?;
    let (key, value) = edit.split_once('=')?;
    Some((key, value, text))
}

/// No bytes make the reader of Kptfiles panic, and what it read survives being written.
pub fn kptfile(input: &[u8]) {
    match Kptfile::read(input) {
        Ok(kptfile) => {
            let written = kptfile.to_struct_yaml();
            if let Err(error) = Kptfile::read(written.as_bytes()) {
                panic!("refused what was written: {error}\n{written}");
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

/// No bytes make the readers and writers of resources panic.
pub fn resources(input: &[u8]) {
    // Whether the outcome is right is for the recorded pairs to say.
    let _ = roundtrip::kio(input);
    if roundtrip::pkg(input).is_ok() {
        let _ = roundtrip::wireback(input);
    }
}

fn emit(documents: &[Document], style: SequenceStyle) -> String {
    let mut encoder = Encoder::new();
    for document in documents {
        encoder.document(document, style);
    }
    encoder.finish()
}

fn has_folded(document: &Document) -> bool {
    ids(document)
        .iter()
        .any(|id| document.node(*id).style().contains(Style::FOLDED))
}

fn has_leading_tab(document: &Document) -> bool {
    ids(document).iter().any(|id| {
        let node = document.node(*id);
        let begins_with_tab = node
            .value()
            .trim_start_matches(LINE_BREAKS)
            .starts_with('\t');
        begins_with_tab && !node.style().contains(Style::DOUBLE_QUOTED)
    })
}

/// Whether nothing at all is written for a document.
fn is_empty(document: &Document) -> bool {
    let root = document.root();
    root.is_scalar()
        && root.value().is_empty()
        && root.style() == Style::NONE
        && root.anchor().is_empty()
}

/// Whether go-yaml writes the document's comments where they do not change its values.
///
/// A key's line comment that is written late breaks the line before the anchor or tag of a block collection, which is
/// then refused; a comment of a collection that is a key comes between it and its `:`, and flow collections hold
/// theirs in as many odd ways; a comment below text that ends in blank lines adds one to it; and above text that has to
/// become a literal, it becomes part of it. So: block collections and texts of one line, keyed by scalars.
fn comments_are_harmless(document: &Document) -> bool {
    ids(document).into_iter().all(|id| {
        let node = document.node(id);
        let style = node.style();
        if node.is_scalar() {
            return style.contains(Style::DOUBLE_QUOTED) || !node.value().contains(LINE_BREAKS);
        }
        node.entries().all(|(key, _)| key.is_scalar())
            && node.anchor().is_empty()
            && !style.contains(Style::TAGGED)
            && !style.contains(Style::FLOW)
    })
}

fn without_comments(document: &Document) -> Document {
    let mut bare = document.clone();
    for slot in [Slot::Head, Slot::Line, Slot::Foot] {
        bare.set_document_comment(slot, "");
        for id in ids(document) {
            bare.set_comment(id, slot, "");
        }
    }
    bare
}

fn ids(document: &Document) -> Vec<NodeId> {
    let mut ids = vec![document.root().id()];
    let mut next = 0;
    while let Some(id) = ids.get(next).copied() {
        ids.extend(document.node(id).children().map(|child| child.id()));
        next += 1;
    }
    ids
}
