//! What is wrong with a connection, by the types of its errors.

use std::error::Error;
use std::io;

use kiln_runtime::PeerProblem;
use rustls::CertificateError;

/// The problem of a connection that could not be made or was lost before the answer.
pub(crate) fn connection_problem(
    error: &(dyn Error + 'static),
    is_encrypted: bool,
) -> Option<PeerProblem> {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    for cause in causes {
        let Some(error) = cause.downcast_ref::<io::Error>() else {
            continue;
        };
        match error.kind() {
            io::ErrorKind::ConnectionRefused => return Some(PeerProblem::Refused),
            // A server of plain HTTP/2 does not understand the beginning of TLS.
            io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof if is_encrypted => {
                return Some(PeerProblem::NoTls);
            }
            _ => {}
        }
        // Neither the error itself nor its sources: an error of TLS is inside.
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        if let Some(problem) = inner.and_then(tls_problem) {
            return Some(problem);
        }
    }
    (!is_encrypted).then_some(PeerProblem::PlainText)
}

fn tls_problem(error: &rustls::Error) -> Option<PeerProblem> {
    match error {
        rustls::Error::InvalidCertificate(error) => certificate_problem(error),
        rustls::Error::InvalidMessage(_) => Some(PeerProblem::NoTls),
        _ => None,
    }
}

fn certificate_problem(error: &CertificateError) -> Option<PeerProblem> {
    match error {
        CertificateError::UnknownIssuer => Some(PeerProblem::UnknownIssuer),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Some(PeerProblem::OtherName)
        }
        CertificateError::Other(other) => match other.0.downcast_ref() {
            Some(webpki::Error::CaUsedAsEndEntity) => Some(PeerProblem::CaAsServer),
            _ => None,
        },
        _ => None,
    }
}
