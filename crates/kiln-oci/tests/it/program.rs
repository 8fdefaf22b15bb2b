//! A running `docker-registry`, if it is installed.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::daemon::Daemon;

/// A registry that is stopped when it is dropped.
pub(crate) struct Program {
    _daemon: Daemon,
    /// Host and port.
    pub(crate) host: String,
    /// Its files, with its CA certificate as `ca.crt`.
    pub(crate) directory: TempDir,
}

/// `me` with the password `pass`, with bcrypt: the registry supports no other hash.
const HTPASSWD: &str = "me:$2y$05$vpCuxEqnit.3Th4gP2Qob.gweF8gJdhTz.PJSZaLzANiA4Mhrhm1O\n";

impl Program {
    /// Starts a registry. `None`, with a message on standard error, if it is not installed.
    pub(crate) fn start(secure: bool) -> Option<Program> {
        let directory = tempfile::tempdir().unwrap();
        let more = match secure {
            true => secrets(directory.path()),
            false => String::new(),
        };
        let daemon = Daemon::start(directory.path(), &more)?;
        Some(Program {
            host: daemon.host.clone(),
            _daemon: daemon,
            directory,
        })
    }
}

/// Writes a certificate and a password file, and returns the configuration for them.
fn secrets(directory: &Path) -> String {
    let path = |name: &str| directory.join(name).display().to_string();
    fs::write(path("htpasswd"), HTPASSWD).unwrap();
    certificate(directory);
    format!(
        "  tls: {{certificate: {}, key: {}}}\nauth:\n  htpasswd: {{realm: test, path: {}}}\n",
        path("server.crt"),
        path("server.key"),
        path("htpasswd")
    )
}

/// Writes a CA certificate, and a certificate for this machine.
fn certificate(directory: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(directory.join("ca.crt"), issuer.pem()).unwrap();
    fs::write(directory.join("server.crt"), certificate.pem()).unwrap();
    fs::write(directory.join("server.key"), key.serialize_pem()).unwrap();
}
