//! Problems of the connection to a peer that users can solve, so that programs can say how.

use std::error::Error;

/// What is wrong with the connection to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerProblem {
    /// Nothing listens at the address.
    Refused,
    /// The peer ended a connection without TLS; perhaps it requires TLS.
    PlainText,
    /// The peer does not speak TLS.
    NoTls,
    /// The CA of the peer's certificate is not trusted.
    UnknownIssuer,
    /// The peer uses the certificate of a CA as its own.
    CaAsServer,
    /// The certificate of the peer is for another name.
    OtherName,
    /// The peer requires a token, and the call has none or a wrong one.
    Token,
}

/// An error of a peer whose problem is known. Displayed as the error itself.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct PeerError {
    pub problem: PeerProblem,
    pub error: Box<dyn Error + Send + Sync>,
}

impl PeerProblem {
    /// The problem of an error, if it is known.
    pub fn of(error: &(dyn Error + Send + Sync + 'static)) -> Option<PeerProblem> {
        let error = error.downcast_ref::<PeerError>()?;
        Some(error.problem)
    }
}
