//! A fast parser for ordinary documents.
//!
//! Most documents keep to a small part of YAML: block collections with plain keys, scalars of all styles as values, short
//! flow collections, comments beside a value or right above an entry. There every line can be read by
//! itself, without a queue of tokens. The tree is the same, node by node, as that of [`super::builder`]; a stream with a
//! document that is not ordinary gives `None` and is read with the full parser.

mod scalars;
mod tree;

use std::sync::Arc;

use memchr::memchr;

use super::builder::split_document_head;
use super::token::{Lines, Piece};
use crate::document::Document;
use crate::lines::break_width;
use crate::node::Style;
use tree::{Arena, TreeBuilder};

/// The documents of a text up to a number of them, if they are ordinary. The text has only ordinary characters.
pub(super) fn read(source: &Arc<str>, most: usize) -> Option<Vec<Document>> {
    let mut documents = Vec::new();
    let mut reader = OrdinaryReader::new(source, Arena::new(source, 0));
    let mut start = 0;
    loop {
        let end = reader.read()?;
        let next = Arena::new(source, end.offset(source));
        let tree = std::mem::replace(&mut reader.tree, next);
        documents.push(tree.into_document(start..end.offset(source)));
        start = end.offset(source);
        match end {
            DocumentEnd::Separator(at) if documents.len() < most => reader.begin_next(at),
            _ => return Some(documents),
        }
    }
}

/// Whether a text is one ordinary document, and so can be read without a problem.
pub(super) fn is_ordinary(text: &str) -> bool {
    has_ordinary_characters(text.as_bytes())
        && OrdinaryReader::new(text, ()).read() == Some(DocumentEnd::Text)
}

/// What a document ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DocumentEnd {
    /// The line `---` at this offset.
    Separator(usize),
    /// The end of the text.
    Text,
}

impl DocumentEnd {
    fn offset(self, source: &str) -> usize {
        match self {
            DocumentEnd::Separator(at) => at,
            DocumentEnd::Text => source.len(),
        }
    }
}

/// Deeper nesting is left to the long way, which has a limit.
const MAX_DEPTH: usize = 500;

/// So are longer keys and wider gaps, for the same reason.
const MAX_WIDTH: usize = 400;

struct OrdinaryReader<'t, T> {
    source: &'t str,
    text: &'t [u8],
    /// Where the next line begins.
    next: usize,
    around: Vec<Collection>,
    /// The offset behind the key or the dash that has no value yet.
    awaiting: Option<usize>,
    /// What stands right above the current line.
    head: Option<Piece>,
    before: Before,
    tree: T,
}

/// A block collection around the current line.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Collection {
    column: usize,
    kind: CollectionKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CollectionKind {
    Mapping,
    Sequence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A key, a dash or a value, and nothing behind it.
    Content,
    /// A line after which comments are about more than what follows them.
    Other,
}

impl<'t, T: TreeBuilder> OrdinaryReader<'t, T> {
    fn new(source: &'t str, tree: T) -> OrdinaryReader<'t, T> {
        OrdinaryReader {
            source,
            text: source.as_bytes(),
            next: 0,
            around: Vec::with_capacity(16),
            awaiting: None,
            head: None,
            before: Before::Other,
            tree,
        }
    }

    /// Goes on with the document behind the separator at this offset.
    fn begin_next(&mut self, separator: usize) {
        self.before = Before::Other;
        self.tree.begin(separator);
    }

    /// Reads the lines of a document; none as soon as one is not ordinary.
    fn read(&mut self) -> Option<DocumentEnd> {
        if self.next == 0 {
            self.read_header()?;
        }
        let mut comments: Option<(usize, Lines)> = None;
        let mut document_end = DocumentEnd::Text;
        while let Some((start, end)) = self.take_line() {
            let at = self.skip_spaces(start);
            let column = at - start;
            match self.text.get(at) {
                _ if at == end => {
                    if comments.is_some() {
                        return None;
                    }
                    self.before = Before::Other;
                }
                Some(b'#') => {
                    let (above, lines) = comments.get_or_insert_with(|| (column, Lines::default()));
                    let is_head = self.before == Before::Content && *above == column;
                    if !is_head || column > MAX_WIDTH {
                        return None;
                    }
                    lines.push(&Piece::span(at, end), self.source);
                }
                Some(b'-') if self.text.get(start..end) == Some(b"---") => {
                    document_end = DocumentEnd::Separator(start);
                    break;
                }
                _ => {
                    if let Some((above, mut lines)) = comments.take() {
                        if above != column {
                            return None;
                        }
                        self.head = Some(lines.take());
                    }
                    self.before = Before::Content;
                    self.line(column, at, end)?;
                }
            }
        }
        if comments.is_some() || self.around.is_empty() {
            return None;
        }
        self.settle();
        while self.around.pop().is_some() {
            self.tree.close(None, None);
        }
        Some(document_end)
    }

    /// Reads what stands above the first entry. Only the last part of it is about the entry.
    fn read_header(&mut self) -> Option<()> {
        if self.text.starts_with(b"---\n") {
            self.next = 4;
            self.tree.begin(0);
            return Some(());
        }
        let mut comments = Lines::default();
        let mut after_blank_line = false;
        loop {
            let here = self.next;
            let (start, end) = self.take_line()?;
            match self.text.get(start..end)? {
                [b'#', ..] => {
                    comments.push(&Piece::span(start, end), self.source);
                    after_blank_line = false;
                }
                [] => {
                    if !comments.is_empty() && !after_blank_line {
                        comments.push_break(self.source);
                    }
                    after_blank_line = true;
                }
                [b' ', ..] => return None,
                _ => {
                    self.next = here;
                    break;
                }
            }
        }
        match split_document_head(comments.as_str(self.source)) {
            Some((of_document, rest)) => {
                self.tree.document_head(&of_document);
                let rest = Some(rest).filter(|rest| !rest.is_empty());
                self.head = rest.map(|rest| Piece::Owned(rest.into_boxed_str()));
            }
            None => self.head = Some(comments.take()).filter(|head| !head.is_empty()),
        }
        Some(())
    }

    /// The next line, without its end.
    fn take_line(&mut self) -> Option<(usize, usize)> {
        let start = self.next;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest);
        let end = start + length.unwrap_or(rest.len());
        self.next = end + usize::from(length.is_some());
        Some((start, end))
    }

    fn line(&mut self, column: usize, at: usize, end: usize) -> Option<()> {
        if !self.is_dash(at, end) {
            let colon = self.key_end(at, end)?;
            self.place(column, CollectionKind::Mapping, at)?;
            return self.entry(at, colon, end);
        }
        self.place(column, CollectionKind::Sequence, at)?;
        let (mut dash, mut column) = (at, column);
        loop {
            let item = self.skip_spaces(dash + 1);
            column += item - dash;
            if item >= end {
                self.awaiting = Some(dash + 1);
                return self.head.is_none().then_some(());
            }
            if self.is_dash(item, end) {
                self.open_item(column, CollectionKind::Sequence, item)?;
                dash = item;
            } else if let Some(colon) = self.key_end(item, end) {
                self.open_item(column, CollectionKind::Mapping, item)?;
                return self.entry(item, colon, end);
            } else {
                return self.value(item, end);
            }
        }
    }

    /// A key and what follows it.
    fn entry(&mut self, at: usize, colon: usize, end: usize) -> Option<()> {
        let head = self.head.take();
        let value = self.skip_spaces(colon + 1);
        let is_missing = value >= end || self.text.get(value) == Some(&b'#');
        let line = match is_missing {
            true => self.rest_of_line(colon + 1, end)?,
            false => None,
        };
        match (head, line) {
            (None, None) => self.tree.span((at, colon)),
            (head, line) => {
                let key = Piece::span(at, colon);
                self.tree.scalar(key, Style::NONE, (at, colon), head, line);
            }
        }
        if is_missing {
            self.awaiting = Some(colon + 1);
            return Some(());
        }
        self.value(value, end)
    }

    /// Finds the collection that a line belongs to, or begins it.
    fn place(&mut self, column: usize, kind: CollectionKind, at: usize) -> Option<()> {
        let Some(innermost) = self.around.last() else {
            let is_root = column == 0 && kind == CollectionKind::Mapping;
            return is_root.then(|| self.open(column, kind, at, None))?;
        };
        let is_deeper = column > innermost.column;
        // The items of a sequence may stand below the key that it belongs to.
        let is_beside = column == innermost.column
            && (innermost.kind, kind) == (CollectionKind::Mapping, CollectionKind::Sequence);
        if self.awaiting.is_some() && (is_deeper || is_beside) {
            self.awaiting = None;
            return self.open(column, kind, at, None);
        }
        self.settle();
        while let Some(innermost) = self.around.last() {
            if *innermost == (Collection { column, kind }) {
                return Some(());
            }
            // A key ends a sequence that stands below one, and nothing else at its column.
            let is_over = innermost.column > column
                || (innermost.column, innermost.kind, kind)
                    == (column, CollectionKind::Sequence, CollectionKind::Mapping);
            if !is_over {
                return None;
            }
            self.around.pop();
            self.tree.close(None, None);
        }
        None
    }

    /// What has no value is null.
    fn settle(&mut self) {
        if let Some(behind) = self.awaiting.take() {
            let place = (behind, behind);
            self.tree
                .scalar(Piece::EMPTY, Style::NONE, place, None, None);
        }
    }

    /// Opens a collection behind a dash. What stands above the dash is about all of it.
    fn open_item(&mut self, column: usize, kind: CollectionKind, at: usize) -> Option<()> {
        let head = self.head.take();
        let head = head.map(|head| Piece::Owned(head.as_str(self.source).into()));
        self.open(column, kind, at, head)
    }

    fn open(
        &mut self,
        column: usize,
        kind: CollectionKind,
        at: usize,
        head: Option<Piece>,
    ) -> Option<()> {
        self.around.push(Collection { column, kind });
        self.tree.open(kind, Style::NONE, at, head);
        let is_ordinary = self.around.len() <= MAX_DEPTH && column <= MAX_WIDTH;
        is_ordinary.then_some(())
    }

    fn skip_spaces(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| **byte == b' ').count()
    }

    /// Whether an item of a sequence begins here.
    fn is_dash(&self, at: usize, end: usize) -> bool {
        self.text.get(at) == Some(&b'-') && (at + 1 == end || self.text.get(at + 1) == Some(&b' '))
    }

    /// The offset of the colon behind the key that begins here.
    fn key_end(&self, at: usize, end: usize) -> Option<usize> {
        let line = self.text.get(at..end)?;
        let first = *line.first()?;
        if first == b'-' || !begins_plain(first) {
            return None;
        }
        for (length, byte) in line.iter().enumerate().take(MAX_WIDTH + 1) {
            match byte {
                b' ' => return None,
                b':' if matches!(line.get(length + 1), None | Some(b' ')) => {
                    return Some(at + length);
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether a plain scalar begins with this byte, or may: a dash needs something behind it. (`<<` has a meaning of its own.)
fn begins_plain(byte: u8) -> bool {
    !matches!(
        byte,
        b' ' | b'?'
            | b':'
            | b','
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'#'
            | b'&'
            | b'*'
            | b'!'
            | b'|'
            | b'>'
            | b'\''
            | b'"'
            | b'%'
            | b'@'
            | b'`'
            | b'<'
    )
}

/// Whether a byte has no meaning of its own in a flow collection.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/')
}

/// No tabs, no other control characters, no line breaks but line feeds, and nothing else that a text must not have.
pub(super) fn has_ordinary_characters(text: &[u8]) -> bool {
    let is_suspicious = |byte: u8| {
        ((byte < b' ') & (byte != b'\n'))
            | (byte == 0x7f)
            | (byte == 0xc2)
            | (byte == 0xe2)
            | (byte == 0xef)
    };
    let mut start = 0;
    for block in text.chunks(64) {
        // Without an early exit the compiler checks many bytes at a time.
        let found = block
            .iter()
            .fold(false, |found, byte| found | is_suspicious(*byte));
        if found {
            let mut places = (start..start + block.len()).filter(|at| is_suspicious(text[*at]));
            if places.any(|at| text[at] != 0xe2 || break_width(text, at) > 0) {
                return false;
            }
        }
        start += block.len();
    }
    true
}

#[cfg(test)]
mod tests;
