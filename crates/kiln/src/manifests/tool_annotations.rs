//! Removes the annotations by which tools recognise resources on their way.
//!
//! Every resource in memory has some of them, and the writer drops those. One that stands in the text of a file is the user's as
//! far as the writer knows, and stays if no function changes the document. So they are removed from the text.

use anyhow::{Result, anyhow};
use kiln_krm::annotations::{LEGACY_ID, LEGACY_INDEX, LEGACY_PATH};
use kiln_krm::package::write_kept_documents;
use kiln_krm::read::read_loose_file;
use kiln_krm::{Dialect, EditableText};

/// The beginning of all newer keys: path, index, id, style of sequences.
const INTERNAL: &str = "internal.config.kubernetes.io/";

/// The older keys.
const LEGACY: [&str; 3] = [LEGACY_PATH, LEGACY_INDEX, LEGACY_ID];

/// YAML documents without annotations of tools. Everything else keeps its bytes.
pub(super) fn without_tool_annotations(documents: Vec<u8>) -> Result<Vec<u8>> {
    let text = String::from_utf8_lossy(&documents);
    let mut keys = LEGACY.iter().chain([&INTERNAL]);
    if !keys.any(|key| text.contains(key)) {
        return Ok(documents);
    }
    let mut cleaned = Vec::new();
    for resource in read_loose_file(documents, Dialect::Current)? {
        let own = write_kept_documents(vec![resource], Dialect::Current)?;
        let text = without_annotations_of(own)?;
        cleaned.extend(read_loose_file(text, Dialect::Current)?);
    }
    Ok(write_kept_documents(cleaned, Dialect::Current)?)
}

fn without_annotations_of(document: Vec<u8>) -> Result<Vec<u8>> {
    let mut text = EditableText::read_resource(&document)
        .ok_or_else(|| anyhow!("a rendered object is not YAML"))?;
    let annotations = text
        .document()
        .root()
        .get_path(&["metadata", "annotations"]);
    let entries = annotations.into_iter().flat_map(|map| map.entries());
    let keys = entries.map(|(key, _)| key.value());
    let keys = keys.filter(|key| key.starts_with(INTERNAL) || LEGACY.contains(key));
    let keys: Vec<String> = keys.map(str::to_owned).collect();
    if keys.is_empty() {
        return Ok(document);
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut root = text.document_mut().root_mut();
    root.clear_annotations(&keys)?;
    root.clear_empty_annotations()?;
    Ok(text.changed().unwrap_or(document))
}
