//! Building a file from unchanged and changed pieces.

use std::sync::Arc;

use kiln_yaml::Slot;

use super::assign_files::FileResource;
use super::read::ReadSet;
use crate::annotations::PACKAGE_PATH;
use crate::dialect::Dialect;
use crate::origin::{Origin, SourceFile};
use crate::read::read_again;
use crate::resource::Resource;
use crate::write::{EncodeError, Unmarked, is_json_path, json, patch, write_documents};

/// A document to write.
struct Piece {
    /// What it was read from, in this or another file.
    origin: Option<Origin>,
    content: KeptContent,
}

enum KeptContent {
    /// As it was read.
    Kept,
    /// Its text with a few edits in it.
    Patched(Vec<u8>),
    Changed(Box<Unmarked>),
}

/// The file's new content; `None` if it is unchanged.
pub(super) fn keep_bytes(
    file_resources: Vec<FileResource>,
    path: &str,
    before: &ReadSet,
    dialect: Dialect,
) -> Result<Option<Vec<u8>>, EncodeError> {
    let file = before.get(path);
    let mut pieces = Vec::with_capacity(file_resources.len());
    for assigned in file_resources {
        pieces.push(Piece::new(assigned, path, before, dialect)?);
    }
    let is_in_place = |(number, piece): (usize, &Piece)| {
        matches!(piece.content, KeptContent::Kept) && piece.number_in(file) == Some(number)
    };
    let count = file.map(|file| file.document_count());
    if count == Some(pieces.len()) && pieces.iter().enumerate().all(is_in_place) {
        return Ok(None);
    }
    if let [
        Piece {
            content: KeptContent::Changed(new),
            ..
        },
    ] = &pieces[..]
        && is_json_path(path)
    {
        let json = new.to_json()?;
        return Ok(Some(json.into_bytes()));
    }
    let file = file.filter(|file| file.is_utf8());
    assemble(&pieces, file, dialect).map(Some)
}

/// Resources as the documents of one stream: unchanged ones have the bytes that they were read from, and changed ones
/// keep their unchanged lines.
pub fn write_kept_documents(
    resources: Vec<Resource>,
    dialect: Dialect,
) -> Result<Vec<u8>, EncodeError> {
    let is_json = |resource: &Resource| is_json_path(resource.file_place().0);
    if resources.len() == 1 && resources.iter().any(is_json) {
        return Ok(write_documents(resources, dialect)?.into_bytes());
    }
    let mut pieces = Vec::with_capacity(resources.len());
    for resource in resources {
        let is_json = is_json(&resource);
        let assigned = FileResource {
            resource: match is_json {
                true => resource.with_origin(None),
                false => resource,
            },
            path: String::new(),
            index: String::new(),
        };
        pieces.push(Piece::new(assigned, "", &ReadSet::default(), dialect)?);
    }
    let mut text = assemble(&pieces, None, dialect)?;
    end_line(&mut text, "\n");
    Ok(text)
}

fn assemble(
    pieces: &[Piece],
    file: Option<&Arc<SourceFile>>,
    dialect: Dialect,
) -> Result<Vec<u8>, EncodeError> {
    let first = pieces.first().and_then(|piece| piece.origin.as_ref());
    let model = file.or_else(|| first.map(Origin::file));
    let line_break = model.map_or("\n", |file| line_break_of(file.bytes()));
    let mut out = file.map_or_else(Vec::new, |file| file.preamble().to_vec());
    for (number, piece) in pieces.iter().enumerate() {
        let own = piece.number_in(file);
        if number > 0 {
            end_line(&mut out, line_break);
            match (own, &piece.origin) {
                (Some(1..), Some(origin)) => out.extend_from_slice(origin.lead()),
                _ => {
                    out.extend_from_slice(b"---");
                    out.extend_from_slice(line_break.as_bytes());
                }
            }
        }
        let is_last = number + 1 == pieces.len();
        out.extend(piece.bytes(is_last, line_break, dialect)?);
    }
    if let (Some(file), Some(last)) = (file, pieces.last()) {
        let is_last_of_file = last.number_in(Some(file)).map(|number| number + 1);
        let ends_as_before = is_last_of_file == Some(file.document_count());
        // A trailing separator is useless; a comment is not.
        if !file.tail().is_empty() && (ends_as_before || file.tail().contains(&b'#')) {
            end_line(&mut out, line_break);
            out.extend_from_slice(file.tail());
        }
    }
    Ok(out)
}

impl Piece {
    fn new(
        assigned: FileResource,
        path: &str,
        before: &ReadSet,
        dialect: Dialect,
    ) -> Result<Piece, EncodeError> {
        let FileResource {
            resource, index, ..
        } = assigned;
        let found = || {
            let (file, index) = (before.get(path)?, index.parse().ok()?);
            (index < file.document_count()).then(|| Origin::new(file.clone(), index))
        };
        let origin = resource.origin().cloned().or_else(found);
        let can_keep = |origin: &&Origin| is_json_path(origin.file().path()) == is_json_path(path);
        let content = match origin.as_ref().filter(can_keep) {
            Some(_) if is_as_read(&resource) => KeptContent::Kept,
            Some(origin) => {
                let new = Unmarked::new(resource, dialect)?;
                if let Some(content) = patched(origin, &new, dialect) {
                    return Ok(Piece {
                        content,
                        origin: Some(origin.clone()),
                    });
                }
                match original(origin, dialect) {
                    Some(old) if old.document.same_tree(&new.document) => KeptContent::Kept,
                    _ => KeptContent::Changed(Box::new(new)),
                }
            }
            None => KeptContent::Changed(Box::new(Unmarked::new(resource, dialect)?)),
        };
        Ok(Piece { origin, content })
    }

    /// The piece's number among the documents of a file, if it was read from it.
    fn number_in(&self, file: Option<&Arc<SourceFile>>) -> Option<usize> {
        let (origin, file) = (self.origin.as_ref()?, file?);
        (origin.file().path() == file.path()).then(|| origin.index())
    }

    fn bytes(
        &self,
        is_last: bool,
        line_break: &str,
        dialect: Dialect,
    ) -> Result<Vec<u8>, EncodeError> {
        let origin = match (&self.content, &self.origin) {
            (KeptContent::Changed(new), origin) => {
                // Lines that stay have the line breaks of their file, which may be another one.
                let kept = origin.as_ref().and_then(|origin| {
                    let own_break = line_break_of(origin.file().bytes());
                    keep_lines(new, origin, is_last, own_break, dialect)
                });
                return match kept {
                    Some(text) => Ok(text.into_bytes()),
                    None => encode(new, line_break, dialect),
                };
            }
            (KeptContent::Patched(text), _) => return Ok(text.clone()),
            (KeptContent::Kept, Some(origin)) => origin,
            (KeptContent::Kept, None) => return Ok(Vec::new()),
        };
        let body = origin.body();
        let ends_well = is_last || body.ends_with(b"\n");
        if origin.file().is_utf8() && (ends_well || survives_line_break(origin, dialect)) {
            return Ok(body.to_vec());
        }
        match original(origin, dialect) {
            Some(document) => encode(&document, line_break, dialect),
            None => Ok(body.to_vec()),
        }
    }
}

/// The document with its edits put into the text that it was read from; none if they have to be merged.
fn patched(origin: &Origin, new: &Unmarked, dialect: Dialect) -> Option<KeptContent> {
    let before = origin.parsed()?;
    let is_same_comment = |slot| before.comment(slot) == new.document.comment(slot);
    if dialect != Dialect::Current || ![Slot::Head, Slot::Foot].into_iter().all(is_same_comment) {
        return None;
    }
    let edits = new.document.edits_since(before)?;
    if edits.has_removed || !edits.lost_comments.is_empty() {
        return None;
    }
    if edits.is_empty() {
        return Some(KeptContent::Kept);
    }
    let (chunk, body) = (origin.chunk(), origin.body());
    if before.source_text().as_bytes() != chunk {
        return None;
    }
    let mut text = patch(before, &new.document, &edits)?.into_bytes();
    text.drain(..chunk.len() - body.len());
    debug_assert!(reads_back(&text, new, body), "{text:?}");
    Some(KeptContent::Patched(text))
}

fn reads_back(text: &[u8], new: &Unmarked, body: &[u8]) -> bool {
    let (text, body) = (std::str::from_utf8(text), std::str::from_utf8(body));
    matches!((text, body), (Ok(text), Ok(body)) if new.is_text(text, body))
}

/// The changed document merged into its own text; `None` if it has to be encoded again.
fn keep_lines(
    new: &Unmarked,
    origin: &Origin,
    is_last: bool,
    line_break: &str,
    dialect: Dialect,
) -> Option<String> {
    let body = std::str::from_utf8(origin.body()).ok()?;
    // The last line of a block scalar differs with and without a line break.
    let ends_early = !is_last && !body.ends_with('\n');
    let is_json = dialect == Dialect::Legacy && json::is_valid(body);
    match ends_early || is_json {
        true => None,
        // Sequences keep their style, even if a function changed the annotation about it.
        false => new.to_yaml_like(body, None, line_break),
    }
}

fn encode(document: &Unmarked, line_break: &str, dialect: Dialect) -> Result<Vec<u8>, EncodeError> {
    let mut text = document.to_yaml();
    if dialect == Dialect::Legacy && json::is_valid(&text) {
        text = document.to_json()?;
    }
    if line_break != "\n" {
        text = text.replace('\n', line_break);
    }
    Ok(text.into_bytes())
}

/// Whether only the annotations about the file can differ from what was read.
fn is_as_read(resource: &Resource) -> bool {
    !resource.is_touched() && resource.annotation(PACKAGE_PATH).is_none()
}

fn is_same(origin: &Origin, document: &Unmarked, dialect: Dialect) -> bool {
    original(origin, dialect)
        .is_some_and(|original| original.document.same_tree(&document.document))
}

/// The document as it was read, without the reader's annotations.
fn original(origin: &Origin, dialect: Dialect) -> Option<Unmarked> {
    let document = read_again(origin.chunk(), origin.file().dialect())?;
    Unmarked::new(Resource::new(document), dialect).ok()
}

/// Whether a line break at the end leaves the value of the document unchanged: in a block scalar it may not.
fn survives_line_break(origin: &Origin, dialect: Dialect) -> bool {
    let longer = [origin.body(), b"\n"].concat();
    let longer = read_again(&longer, origin.file().dialect());
    let longer = longer.and_then(|document| Unmarked::new(Resource::new(document), dialect).ok());
    longer.is_some_and(|longer| is_same(origin, &longer, dialect))
}

fn line_break_of(text: &[u8]) -> &'static str {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    match lines.next().is_some_and(|line| line.ends_with(b"\r\n")) {
        true => "\r\n",
        false => "\n",
    }
}

fn end_line(out: &mut Vec<u8>, line_break: &str) {
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.extend_from_slice(line_break.as_bytes());
    }
}
