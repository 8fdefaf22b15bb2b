//! Certificates and CA certificates, from files that may be replaced.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_runtime::{FileValue, FileValueError, Refresh};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// PEM files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The certificate of the server and its chain.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The CA of client certificates; clients need none if not given.
    pub client_ca: Option<PathBuf>,
}

/// The TLS settings of connections.
pub struct Tls {
    config: FileValue<ServerConfig>,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("set up TLS")]
pub struct TlsError(#[from] FileValueError);

impl Tls {
    /// Reads the files. They are checked again with every connection.
    pub fn load(files: TlsFiles) -> Result<Tls, TlsError> {
        let mut paths = vec![files.certificate.clone(), files.key.clone()];
        paths.extend(files.client_ca.clone());
        let config = FileValue::load(paths, move |contents| server_config(&files, contents))?;
        Ok(Tls { config })
    }

    /// The acceptor of the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        match self.config.refresh() {
            Refresh::Unchanged => {}
            Refresh::Changed => tracing::info!("TLS files read again"),
            Refresh::Failed(error) => {
                tracing::error!(
                    error,
                    "the new TLS files are invalid, the old ones stay in force"
                );
            }
        }
        TlsAcceptor::from(self.config.get())
    }
}

fn server_config(files: &TlsFiles, contents: &[Vec<u8>]) -> Result<ServerConfig, String> {
    let certificate = contents.first().map_or(&[][..], Vec::as_slice);
    let key = contents.get(1).map_or(&[][..], Vec::as_slice);
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match (&files.client_ca, contents.get(2)) {
        (Some(path), Some(pem)) => {
            let wrong = |error: String| format!("{}: {error}", path.display());
            let mut roots = RootCertStore::empty();
            for root in certificates(pem).map_err(wrong)? {
                roots.add(root).map_err(|error| wrong(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| wrong(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
        _ => builder.with_no_client_auth(),
    };
    let chain = certificates(certificate)
        .map_err(|error| format!("{}: {error}", files.certificate.display()))?;
    let wrong_key = |error: String| format!("{}: {error}", files.key.display());
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong_key(error.to_string()))?;
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| wrong_key(error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| error.to_string())?;
    if certificates.is_empty() {
        return Err("it contains no certificate".to_owned());
    }
    Ok(certificates)
}
