//! The secret that callers have to show, from a file that may be replaced.

use std::path::PathBuf;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kiln_runtime::{FileValue, FileValueError, Refresh};

/// A bearer token.
pub struct Token {
    file: FileValue<Vec<u8>>,
}

impl Token {
    /// The token in a file, without the white space around it.
    pub fn load(path: PathBuf) -> Result<Token, FileValueError> {
        let shown = path.display().to_string();
        let file = FileValue::load(vec![path], move |contents| {
            let token = contents.first().map(|bytes| bytes.trim_ascii().to_vec());
            let token = token.unwrap_or_default();
            if token.is_empty() {
                return Err(format!("token file {shown} is empty"));
            }
            Ok(token)
        })?;
        Ok(Token { file })
    }

    /// Whether a request shows the token.
    pub(crate) fn is_shown(&self, headers: &HeaderMap) -> bool {
        match self.file.refresh() {
            Refresh::Unchanged => {}
            Refresh::Changed => tracing::info!("token file read again"),
            Refresh::Failed(error) => {
                tracing::error!(error, "new token file not used, the old token stays");
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

/// Compares without telling by the time it takes where the first difference is.
fn is_same(shown: &[u8], wanted: &[u8]) -> bool {
    let pairs = shown.iter().zip(wanted);
    let different = pairs.fold(0, |different, (a, b)| different | (a ^ b));
    shown.len() == wanted.len() && std::hint::black_box(different) == 0
}
