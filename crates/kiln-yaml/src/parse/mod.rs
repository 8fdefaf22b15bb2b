//! Text to tree.

use crate::document::Document;
use crate::error::Error;

/// Reads the documents of a stream one after the other.
///
/// A document is returned before what follows it is looked at (beyond a token or two), so that a first document can
/// be had from a stream that is broken further down, as in Go.
pub struct Documents {}

impl Documents {
    /// Starts reading a stream: UTF-8, or UTF-16 with a byte order mark.
    pub fn new(_input: &[u8]) -> Documents {
        Documents {}
    }
}

impl Iterator for Documents {
    type Item = Result<Document, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

/// The first document of a stream; none if there is no document in it.
pub fn parse(input: &str) -> Result<Option<Document>, Error> {
    Documents::new(input.as_bytes()).next().transpose()
}

/// All documents of a stream.
pub fn parse_all(input: &[u8]) -> Result<Vec<Document>, Error> {
    Documents::new(input).collect()
}
