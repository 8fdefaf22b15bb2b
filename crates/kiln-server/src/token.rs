//! The bearer token that callers must send, from a file that may be replaced.

use std::path::PathBuf;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kiln_runtime::{FileValue, FileValueError, Refresh};

/// A bearer token.
pub struct BearerToken {
    file: FileValue<Vec<u8>>,
}

impl BearerToken {
    /// Reads the token from a file, without the white space around it.
    pub fn load(path: PathBuf) -> Result<BearerToken, FileValueError> {
        let shown = path.display().to_string();
        let file = FileValue::load(vec![path], move |contents| {
            let token = contents.first().map(|bytes| bytes.trim_ascii().to_vec());
            let token = token.unwrap_or_default();
            if token.is_empty() {
                return Err(format!("token file {shown} is empty"));
            }
            Ok(token)
        })?;
        Ok(BearerToken { file })
    }

    /// Whether a request carries the token.
    pub fn is_valid_in(&self, headers: &HeaderMap) -> bool {
        match self.file.refresh() {
            Refresh::Unchanged => {}
            Refresh::Changed => tracing::info!("token file read again"),
            Refresh::Failed(error) => {
                tracing::error!(
                    error,
                    "the new token file is invalid, the old token stays in force"
                );
            }
        }
        let shown = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
        let shown = shown.and_then(|shown| {
            let (scheme, token) = shown.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
        });
        shown.is_some_and(|shown| is_same(shown, &self.file.get()))
    }
}

/// Compares in constant time, so that the time does not reveal the first difference.
fn is_same(shown: &[u8], wanted: &[u8]) -> bool {
    let pairs = shown.iter().zip(wanted);
    let different = pairs.fold(0, |different, (a, b)| different | (a ^ b));
    shown.len() == wanted.len() && std::hint::black_box(different) == 0
}
