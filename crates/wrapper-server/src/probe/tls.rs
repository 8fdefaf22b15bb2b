//! The endpoints of the probe, and how it verifies the server.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::config::{ProbeConfig, TlsConfig, Trust};

/// The addresses to try. `localhost` is resolved here: an empty image has no hosts file.
pub(super) fn endpoints(config: &ProbeConfig) -> Result<Vec<Endpoint>> {
    if config.address.starts_with("unix:") {
        let address = config.address.replacen("unix://", "unix:", 1);
        return Ok(vec![Endpoint::from_shared(address)?]);
    }
    let address = config.address.trim_start_matches("dns:///");
    let Some((host, port)) = address.rsplit_once(':') else {
        bail!("{address:?} is not host:port");
    };
    let hosts: &[&str] = match host {
        "" | "localhost" => &["127.0.0.1", "[::1]"],
        host => &[host],
    };
    let scheme = if config.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let endpoints = hosts.iter().map(|reached| {
        let endpoint = Endpoint::from_shared(format!("{scheme}://{reached}:{port}"))?;
        let endpoint = endpoint.user_agent(config.user_agent.clone())?;
        match &config.tls {
            Some(tls) => secure(endpoint, tls, host),
            None => Ok(endpoint),
        }
    });
    endpoints.collect()
}

fn secure(endpoint: Endpoint, tls: &TlsConfig, host: &str) -> Result<Endpoint> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.is_empty() { "localhost" } else { host };
    let mut config = ClientTlsConfig::new().assume_http2(true);
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    match &tls.trust {
        Trust::Any => {
            let verifier = Arc::new(NoVerification(Arc::new(ring::default_provider())));
            let config = config.domain_name(host);
            Ok(endpoint.tls_config_with_verifier(config, verifier)?)
        }
        Trust::Signed { ca, server_name } => {
            let name = server_name.as_deref().unwrap_or(host);
            let config = match ca {
                Some(ca) => config.ca_certificate(Certificate::from_pem(read(ca)?)),
                None => config.with_native_roots(),
            };
            Ok(endpoint.tls_config(config.domain_name(name))?)
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Accepts every certificate, as the user asked; still checks that the server has its key.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
