//! TLS client configurations: which certificates are trusted, and which certificate the client presents.
//!
//! The only crypto provider is ring: with two providers linked, rustls panics unless the program chooses one.
//! Deliberately absent: files. Callers read PEM files and name them in their errors.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::{ClientConfig, RootCertStore};

/// Why PEM bytes or a configuration are not usable.
#[derive(Debug, thiserror::Error)]
pub enum ClientTlsError {
    /// The bytes are not PEM, or contain no private key.
    #[error(transparent)]
    Pem(#[from] pem::Error),
    /// The bytes are PEM without a certificate.
    #[error("contains no certificate")]
    NoCertificate,
    /// A certificate or key is not supported.
    #[error(transparent)]
    Unsupported(#[from] rustls::Error),
}

/// A client certificate with its private key, for servers that require one (mTLS).
#[derive(Debug)]
pub struct ClientIdentity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl ClientIdentity {
    /// Reads a certificate chain and its key from PEM.
    pub fn new(
        certificates: Vec<CertificateDer<'static>>,
        key_pem: &[u8],
    ) -> Result<ClientIdentity, ClientTlsError> {
        Ok(ClientIdentity {
            certificates,
            key: PrivateKeyDer::from_pem_slice(key_pem)?,
        })
    }
}

/// The certificates of a PEM file, at least one.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ClientTlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates?;
    match certificates.is_empty() {
        true => Err(ClientTlsError::NoCertificate),
        false => Ok(certificates),
    }
}

/// The CA certificates of a PEM file.
pub fn roots_from_pem(pem: &[u8]) -> Result<RootCertStore, ClientTlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// The CA certificates of the system. Certificates that cannot be read are left out. Reads files.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// A configuration for TLS 1.2 and later that trusts `roots`.
pub fn client_config(
    roots: RootCertStore,
    identity: Option<ClientIdentity>,
) -> Result<ClientConfig, ClientTlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(match identity {
        Some(ClientIdentity { certificates, key }) => {
            builder.with_client_auth_cert(certificates, key)?
        }
        None => builder.with_no_client_auth(),
    })
}

#[cfg(test)]
mod tests;
