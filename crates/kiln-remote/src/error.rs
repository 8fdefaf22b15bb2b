//! What went wrong between us and a runner, in Porch's words.

use std::io;
use std::path::PathBuf;

use tonic::Code;

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("func eval {} failed: rpc error: code = {} desc = {description}", kiln_go::quote(image), kiln_proto::go_code_name(*code))]
pub struct EvalError {
    /// The image that was to be run.
    pub image: String,
    /// What kind of failure it is.
    pub code: Code,
    /// The text of the status.
    pub description: String,
}

/// Why a runner cannot be reached as told.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Certificates or keys make no sense.
    #[error("cannot use TLS with the runner: {reason}")]
    Tls {
        /// What is wrong with them.
        reason: String,
    },
    /// A file holds no token.
    #[error("what {} holds cannot be sent as a token", path.display())]
    Token {
        /// Which.
        path: PathBuf,
    },
    /// A token would travel where everybody can read it.
    #[error("a token is only sent over TLS, and the connection to the runner is plain text")]
    TokenInClear,
    /// There is no thread for the connection.
    #[error("cannot start what holds the connection to the runner")]
    Thread(#[source] io::Error),
}
