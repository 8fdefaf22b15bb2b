//! Errors of calls to a runner, in Porch's words.

use std::io;
use std::path::PathBuf;

use tonic::Code;

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("func eval {} failed: rpc error: code = {} desc = {description}", kiln_go::quote(image), kiln_proto::go_code_name(*code))]
pub struct EvalError {
    pub image: String,
    pub code: Code,
    pub description: String,
}

/// Why the connection to a runner cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Certificates or keys are invalid.
    #[error("cannot use TLS with the runner: {reason}")]
    Tls { reason: String },
    /// A file contains no valid token.
    #[error("the contents of {} cannot be sent as a token", path.display())]
    Token { path: PathBuf },
    /// The token would be sent unencrypted.
    #[error("a token is sent over TLS only, and the connection to the runner is plain text")]
    TokenInClear,
    /// The thread of the connection cannot be started.
    #[error("cannot start the thread of the connection to the runner")]
    Thread(#[source] io::Error),
}
