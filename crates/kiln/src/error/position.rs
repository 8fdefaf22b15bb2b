//! Places in a Kptfile: of a function, of a field, of a line that a message names; and of a document in any file.

use kiln_krm::package::FileSource;
use kiln_render::FunctionPlace;
use kiln_yaml::{Document, NodeRef};

use crate::ui::Place;

/// A function of a pipeline as its Kptfile has it.
pub(super) struct Entry {
    /// The image or command line.
    pub(super) name: String,
    pub(super) place: Place,
    /// As seen from the Kptfile.
    pub(super) config_path: Option<String>,
}

/// What a function of the pipeline is called there, and where it stands.
pub(super) fn function_entry(
    files: &dyn FileSource,
    kptfile: &str,
    place: FunctionPlace,
) -> Option<Entry> {
    let (document, text) = parsed(files, kptfile)?;
    let list = document.root().get_path(&["pipeline", place.kind.list()])?;
    let function = entry(list, place.index)?;
    let scalar = |key: &str| Some(function.get(key)?.as_text()?.to_owned());
    Some(Entry {
        name: scalar("image").or_else(|| scalar("exec"))?,
        place: place_of(function, kptfile, &text)?,
        config_path: scalar("configPath"),
    })
}

/// Where a field stands; the place of what encloses it if it is not there.
pub(super) fn field_place(files: &dyn FileSource, kptfile: &str, field: &str) -> Option<Place> {
    let (document, text) = parsed(files, kptfile)?;
    let mut node = document.root();
    for part in field.split('.') {
        let (key, index) = match part.split_once('[') {
            Some((key, index)) => (key, index.trim_end_matches(']').parse().ok()),
            None => (part, None),
        };
        let Some(inner) = node.get(key) else {
            break;
        };
        node = match index {
            Some(index) => entry(inner, index)?,
            None => inner,
        };
    }
    place_of(node, kptfile, &text)
}

/// Where a document of a file begins.
pub(crate) fn document_place(files: &dyn FileSource, path: &str, index: &str) -> Option<Place> {
    let bytes = files.read(path).ok()?;
    let documents = kiln_yaml::parse_all(&bytes).ok()?;
    let document = documents.get(index.parse::<usize>().unwrap_or_default())?;
    place_of(document.root(), path, std::str::from_utf8(&bytes).ok()?)
}

/// The line that a message names: `line 13: …`.
pub(super) fn line_place(files: &dyn FileSource, kptfile: &str, message: &str) -> Option<Place> {
    let (_, after) = message.split_once("line ")?;
    let (number, _) = after.split_once(':')?;
    let line: usize = number.parse().ok()?;
    let text = String::from_utf8(files.read(kptfile).ok()?).ok()?;
    let text = text.lines().nth(line.checked_sub(1)?)?;
    let indent = text.chars().take_while(|c| matches!(c, ' ' | '-')).count();
    Some(Place {
        file: kptfile.to_owned(),
        line,
        column: indent + 1,
        text: text.to_owned(),
    })
}

fn parsed(files: &dyn FileSource, kptfile: &str) -> Option<(Document, String)> {
    let bytes = files.read(kptfile).ok()?;
    let document = kiln_yaml::parse_first(&bytes).ok()??;
    Some((document, String::from_utf8(bytes).ok()?))
}

/// An entry of a list, in which null is no entry.
fn entry(list: NodeRef<'_>, index: usize) -> Option<NodeRef<'_>> {
    list.items().filter(|item| !item.is_null()).nth(index)
}

fn place_of(node: NodeRef<'_>, kptfile: &str, text: &str) -> Option<Place> {
    let position = node.position()?;
    let line = text.lines().nth(position.line.checked_sub(1)?)?;
    Some(Place {
        file: kptfile.to_owned(),
        line: position.line,
        column: position.column,
        text: line.to_owned(),
    })
}
