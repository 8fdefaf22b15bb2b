//! Positions in files: of a function or a field of a Kptfile, of a line, of a document.

use std::fmt;

use kiln_krm::package::FileSource;
use kiln_render::FunctionPlace;
use kiln_yaml::{Document, NodeRef};

#[derive(Debug, Clone)]
pub(crate) struct FilePosition {
    /// The path as the user would write it.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) display: PositionDisplay,
}

/// How a position is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PositionDisplay {
    /// Not at all: the message contains it.
    InMessage,
    /// As `FILE:LINE:COLUMN`.
    Path,
    /// As `FILE:LINE:COLUMN` with this line of the file.
    Line(String),
}

impl FilePosition {
    /// The same, shown with its line of the file. The files are those of a directory that the path begins with.
    pub(super) fn with_line(self, files: &dyn FileSource, directory: &str) -> FilePosition {
        if self.display != PositionDisplay::InMessage {
            return self;
        }
        let path = self.file.strip_prefix(directory).unwrap_or(&self.file);
        let text = files.read(path.trim_start_matches('/')).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let line = self
            .line
            .checked_sub(1)
            .and_then(|line| text.lines().nth(line));
        FilePosition {
            display: line.map_or(PositionDisplay::Path, |line| {
                PositionDisplay::Line(line.to_owned())
            }),
            ..self
        }
    }

    /// The position for a message, unless the message contains it.
    pub(super) fn shown(&self) -> Option<String> {
        match self.display {
            PositionDisplay::InMessage => None,
            PositionDisplay::Path | PositionDisplay::Line(_) => Some(self.to_string()),
        }
    }

    /// The line with a caret below the column.
    pub(super) fn excerpt(&self) -> Option<String> {
        let PositionDisplay::Line(text) = &self.display else {
            return None;
        };
        let text: String = text.chars().map(visible).collect();
        if text.trim().is_empty() {
            return None;
        }
        let FilePosition { line, column, .. } = self;
        let gutter = line.to_string().len();
        let before = text.chars().take(column.saturating_sub(1));
        let pad: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        Some(format!("{line} | {text}\n{:gutter$} | {pad}^", ""))
    }
}

/// Files must not send control characters to the terminal.
fn visible(c: char) -> char {
    match c {
        '\t' => c,
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilePosition {
            file, line, column, ..
        } = self;
        write!(f, "{file}:{line}:{column}")
    }
}

/// A function in the pipeline of a Kptfile.
pub(super) struct FunctionEntry {
    /// The image or command line.
    pub(super) name: String,
    pub(super) is_image: bool,
    /// The version of the image beside its name, which may be a range of versions.
    pub(super) tag: Option<String>,
    pub(super) position: FilePosition,
    /// Relative to the Kptfile.
    pub(super) config_path: Option<String>,
}

/// Finds a function in the pipeline of a Kptfile.
pub(super) fn function_entry(
    files: &dyn FileSource,
    kptfile: &str,
    place: FunctionPlace,
) -> Option<FunctionEntry> {
    let (document, text) = parsed(files, kptfile)?;
    let list = document.root().get_path(&["pipeline", place.kind.list()])?;
    let function = entry(list, place.index)?;
    let scalar = |key: &str| Some(function.get(key)?.as_text()?.to_owned());
    let image = scalar("image");
    Some(FunctionEntry {
        is_image: image.is_some(),
        tag: scalar("tag").filter(|tag| !tag.is_empty()),
        name: image.or_else(|| scalar("exec"))?,
        position: position_of(function, kptfile, &text)?,
        config_path: scalar("configPath"),
    })
}

/// The position of a field; if it is missing, that of the mapping that should contain it.
pub(super) fn field_position(
    files: &dyn FileSource,
    kptfile: &str,
    field: &str,
) -> Option<FilePosition> {
    let (document, text) = parsed(files, kptfile)?;
    position_of(field_node(document.root(), field), kptfile, &text)
}

/// The node of a field such as `spec.containers[0].image`, or the last node on the way to it that exists.
fn field_node<'a>(root: NodeRef<'a>, field: &str) -> NodeRef<'a> {
    let mut node = root;
    for part in field.split('.') {
        let (key, index) = match part.split_once('[') {
            Some((key, index)) => (key, index.trim_end_matches(']').parse().ok()),
            None => (part, None),
        };
        let Some(inner) = node.get(key) else {
            break;
        };
        node = inner;
        let Some(index) = index else {
            continue;
        };
        match entry(inner, index) {
            Some(item) => node = item,
            None => break,
        }
    }
    node
}

/// The start of a document in a file.
pub(crate) fn document_position(
    files: &dyn FileSource,
    path: &str,
    index: &str,
) -> Option<FilePosition> {
    let bytes = files.read(path).ok()?;
    let documents = kiln_yaml::parse_all(&bytes).ok()?;
    let document = documents.get(index.parse::<usize>().unwrap_or_default())?;
    position_of(document.root(), path, std::str::from_utf8(&bytes).ok()?)
}

/// The first key or value on a line.
pub(super) fn line_position(
    files: &dyn FileSource,
    path: &str,
    line: usize,
) -> Option<FilePosition> {
    let text = String::from_utf8(files.read(path).ok()?).ok()?;
    let text = text.lines().nth(line.checked_sub(1)?)?;
    let indent = text.chars().take_while(|c| matches!(c, ' ' | '-')).count();
    Some(FilePosition {
        file: path.to_owned(),
        line,
        column: indent + 1,
        display: PositionDisplay::Line(text.to_owned()),
    })
}

fn parsed(files: &dyn FileSource, kptfile: &str) -> Option<(Document, String)> {
    let bytes = files.read(kptfile).ok()?;
    let document = kiln_yaml::parse_first(&bytes).ok()??;
    Some((document, String::from_utf8(bytes).ok()?))
}

/// An entry of a list. Null entries do not count.
fn entry(list: NodeRef<'_>, index: usize) -> Option<NodeRef<'_>> {
    list.items().filter(|item| !item.is_null()).nth(index)
}

fn position_of(node: NodeRef<'_>, path: &str, text: &str) -> Option<FilePosition> {
    let position = node.position()?;
    let line = text.lines().nth(position.line.checked_sub(1)?)?;
    Some(FilePosition {
        file: path.to_owned(),
        line: position.line,
        column: position.column,
        display: PositionDisplay::Line(line.to_owned()),
    })
}
