//! The ways of reading and writing behind recorded pairs, one function each.
//!
//! The conformance program and the tests both use them.

use kiln_yaml::Encoder;

use crate::dialect::Dialect;
use crate::list::{Wrapper, write_list};
use crate::read::{self, FileOptions, ReadError, read_file, read_input};
use crate::resource::Resource;
use crate::write::{EncodeError, write_documents};

/// Why a text cannot be read and written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoundtripError {
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl RoundtripError {
    /// The line in Go's message, if it has one.
    pub fn go_line(&self) -> Option<usize> {
        match self {
            RoundtripError::Read(ReadError::Malformed { error, .. }) => error.go_line(),
            _ => None,
        }
    }
}

/// The reader without annotations: the text split into documents, each written in the style guessed for it.
pub fn kio(input: &[u8]) -> Result<String, RoundtripError> {
    let mut encoder = Encoder::new();
    for (document, style) in read::read_plain(input)? {
        encoder.document(&document, style);
    }
    Ok(encoder.finish())
}

/// Read as a file of a package and written back.
pub fn pkg(input: &[u8]) -> Result<String, RoundtripError> {
    Ok(write_documents(
        read_package_file(input)?,
        Dialect::Current,
    )?)
}

/// Read as a file of a package and written as a function's input.
pub fn wire(input: &[u8]) -> Result<String, RoundtripError> {
    let function_config = kiln_yaml::parse(FUNCTION_CONFIG).ok().flatten();
    let wrapper = Wrapper::resource_list(Dialect::Current);
    let items = read_package_file(input)?;
    Ok(write_list(&wrapper, &items, function_config.as_ref(), None))
}

/// That function's input read again and written as documents.
pub fn wireback(input: &[u8]) -> Result<String, RoundtripError> {
    let list = read_input(wire(input)?.into_bytes(), Dialect::Current)?;
    Ok(write_documents(list.items, Dialect::Current)?)
}

const FUNCTION_CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fn # c\ndata:\n  k: v\n";

fn read_package_file(input: &[u8]) -> Result<Vec<Resource>, ReadError> {
    read_file("dir/file.yaml", input.to_vec(), &FileOptions::default())
}
