//! Text to tree.
//!
//! [`reader`] turns bytes into text, [`scanner`] text into tokens with [`comments`] beside them, [`builder`] tokens
//! into documents. [`ordinary`] is a shorter way to the same trees for the documents that most are. Nothing here
//! recurses, and every byte is looked at a bounded number of times.

mod block;
mod builder;
mod comments;
mod ordinary;
mod plain;
mod properties;
mod reader;
mod scanner;
mod token;

use std::sync::Arc;

use self::builder::Builder;
use self::reader::InvalidCharacter;
use self::token::{ScanFailure, Stage};
use crate::document::Document;
use crate::error::{Error, Position, Snippet};
use crate::lines::{LineIndex, is_break};

/// Longest input: positions are kept in 31 bits.
const MAX_BYTES: usize = (1 << 31) - 1;

/// The first document of a text; none if there is no document in it.
///
/// What follows the first document is not looked at (beyond a token or two), as in Go.
pub fn parse(input: &str) -> Result<Option<Document>, Error> {
    parse_first(input.as_bytes())
}

/// The first document of a stream in any encoding; none if there is no document in it.
pub fn parse_first(input: &[u8]) -> Result<Option<Document>, Error> {
    match read(input, 1) {
        (_, Some(error)) => Err(error),
        (mut documents, None) => Ok(documents.pop()),
    }
}

/// The only document of a stream; none if there is no document in it. It is an error if anything but comments follows it.
pub fn parse_single(input: &[u8]) -> Result<Option<Document>, Error> {
    let (mut documents, problem) = read(input, 2);
    if let Some(error) = problem {
        return Err(error);
    }
    match documents.get(1) {
        None => Ok(documents.pop()),
        Some(second) => {
            let position = second.root().position();
            let position = position.unwrap_or(Position { line: 1, column: 1 });
            Err(Error {
                message: "one document is expected, and another one begins here".to_owned(),
                go_line: Some(position.line),
                position,
                snippet: Snippet::default(),
            })
        }
    }
}

/// All documents of a stream: UTF-8, or UTF-16 with a byte order mark.
pub fn parse_all(input: &[u8]) -> Result<Vec<Document>, Error> {
    match parse_until_error(input) {
        (_, Some(error)) => Err(error),
        (documents, None) => Ok(documents),
    }
}

/// The documents of a stream up to the first problem, and that problem if there is one.
pub fn parse_until_error(input: &[u8]) -> (Vec<Document>, Option<Error>) {
    read(input, usize::MAX)
}

/// Whether a text is a single document of an ordinary kind, which is sure to be read without an error and is found out
/// without reading it to a tree. Nothing follows if it is not.
pub fn is_ordinary(text: &str) -> bool {
    text.len() <= MAX_BYTES && ordinary::is_ordinary(text)
}

fn read(input: &[u8], most: usize) -> (Vec<Document>, Option<Error>) {
    let (mut documents, problem) = read_documents(input, most);
    for document in &mut documents {
        document.parsed_nodes = document.nodes.len();
    }
    (documents, problem)
}

fn read_documents(input: &[u8], most: usize) -> (Vec<Document>, Option<Error>) {
    if input.len() > MAX_BYTES {
        let error = Error {
            message: format!("the input has {} bytes, more than {MAX_BYTES}", input.len()),
            go_line: None,
            position: Position { line: 1, column: 1 },
            snippet: Snippet::default(),
        };
        return (Vec::new(), Some(error));
    }
    let decoded = reader::decode(input);
    let stop = decoded.stop.as_ref();
    let source: Arc<str> = Arc::from(&*decoded.text);
    if stop.is_none()
        && decoded.has_ordinary_characters
        && let Some(documents) = ordinary::read(&source, most)
    {
        return (documents, None);
    }
    read_tokens(&source, stop, most)
}

/// Reads documents of any kind.
fn read_tokens(
    source: &Arc<str>,
    stop: Option<&InvalidCharacter>,
    most: usize,
) -> (Vec<Document>, Option<Error>) {
    let mut documents = Vec::new();
    let mut builder = Builder::new(source, source.clone());
    let mut problem = None;
    while documents.len() < most && problem.is_none() {
        match builder.document() {
            Ok(document) => {
                problem = stop
                    .filter(|stop| document.is_none() || stop.is_noticed_at(builder.position()))
                    .map(|stop| stop_error(source, stop));
                match document {
                    Some(document) if problem.is_none() => documents.push(document),
                    _ => break,
                }
            }
            Err(failure) => problem = Some(error(source, *failure, stop)),
        }
    }
    (documents, problem)
}

fn stop_error(source: &str, stop: &InvalidCharacter) -> Error {
    place(source, source.len(), stop.message.to_owned(), None)
}

fn error(source: &str, failure: ScanFailure, stop: Option<&InvalidCharacter>) -> Error {
    if let Some(stop) = stop
        && stop.is_noticed_at(failure.problem.index)
    {
        return stop_error(source, stop);
    }
    // Line zero counts as no line, and scanner problems are counted from one. As in Go.
    let line = failure
        .context
        .map(|mark| mark.line)
        .filter(|line| *line != 0)
        .unwrap_or(failure.problem.line);
    let go_line = match failure.stage {
        Stage::Scanner if line != 0 => Some(line as usize + 1),
        Stage::Grammar if line != 0 => Some(line as usize),
        _ => None,
    };
    place(source, failure.problem.index, failure.message, go_line)
}

fn place(source: &str, offset: usize, message: String, go_line: Option<usize>) -> Error {
    let position = LineIndex::new(source).position(source, offset);
    let before = &source[..offset.min(source.len())];
    let start = before.rfind(is_break).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let line = source[start..].split(is_break).next().unwrap_or_default();
    Error {
        message,
        go_line,
        snippet: Snippet::around(line, position.column),
        position,
    }
}
