//! TLS, client certificates and tokens.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_remote::{RemoteEvaluator, RemoteOptions, SetupError, TlsFiles};
use kiln_runtime::RunContext;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tonic::Status;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::server::{TestServer, echo, run};

/// A CA, and a certificate of it for `localhost`.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap());
        Authority {
            issuer: issuer.unwrap(),
        }
    }

    /// Certificate and key.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn server(&self) -> ServerTlsConfig {
        let (certificate, key) = self.issue("runner.test");
        ServerTlsConfig::new().identity(Identity::from_pem(certificate, key))
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }
}

fn file(directory: &TempDir, name: &str, content: &str) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn trusting(server: &TestServer, ca: &Path) -> RemoteOptions {
    let mut options = server.options();
    options.retry_timeout = std::time::Duration::ZERO;
    options.tls = Some(TlsFiles {
        ca: Some(ca.to_owned()),
        identity: None,
        server_name: Some("runner.test".to_owned()),
    });
    options
}

fn call(options: RemoteOptions) -> Result<(), String> {
    let evaluator = RemoteEvaluator::new(options).map_err(|error| error.to_string())?;
    let ended = run(&evaluator, &RunContext::default());
    ended.map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_runner_with_the_right_certificate_is_trusted() {
    let directory = TempDir::new().unwrap();
    let (ours, other) = (Authority::new(), Authority::new());
    let server = TestServer::serve("127.0.0.1:0", Arc::new(echo), Some(ours.server()), None);
    let ca = file(&directory, "ca.pem", &ours.pem());
    assert_eq!(call(trusting(&server, &ca)), Ok(()));

    let wrong_ca = file(&directory, "other.pem", &other.pem());
    let refused = call(trusting(&server, &wrong_ca)).unwrap_err();
    assert!(refused.contains("invalid peer certificate"), "{refused}");

    let mut wrong_name = trusting(&server, &ca);
    wrong_name.tls.as_mut().unwrap().server_name = Some("else.test".to_owned());
    let refused = call(wrong_name).unwrap_err();
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[test]
fn a_runner_that_requires_a_client_certificate_gets_it() {
    let directory = TempDir::new().unwrap();
    let authority = Authority::new();
    let tls = authority
        .server()
        .client_ca_root(Certificate::from_pem(authority.pem()));
    let server = TestServer::serve("127.0.0.1:0", Arc::new(echo), Some(tls), None);
    let ca = file(&directory, "ca.pem", &authority.pem());
    assert!(call(trusting(&server, &ca)).is_err());

    let (certificate, key) = authority.issue("client.test");
    let mut options = trusting(&server, &ca);
    options.tls.as_mut().unwrap().identity = Some((
        file(&directory, "client.pem", &certificate),
        file(&directory, "client.key", &key),
    ));
    assert_eq!(call(options), Ok(()));
}

#[test]
fn every_call_carries_the_current_token() {
    let directory = TempDir::new().unwrap();
    let token_file = file(&directory, "token", "first\n");
    let server = TestServer::start(|request| {
        let token = request.metadata().get("authorization");
        let token = token.map_or("none", |value| value.to_str().unwrap());
        Err(Status::unauthenticated(token))
    });
    let mut options = server.options();
    options.token_file = Some(token_file);
    let evaluator = RemoteEvaluator::new(options).unwrap();
    let error_text = || {
        let error = run(&evaluator, &RunContext::default()).unwrap_err();
        error.to_string()
    };
    assert!(error_text().ends_with("code = Unauthenticated desc = Bearer first"));
    file(&directory, "token", "second");
    assert!(error_text().ends_with("desc = Bearer second"));
    std::fs::remove_file(directory.path().join("token")).unwrap();
    assert!(
        error_text().contains("Unavailable desc = cannot read "),
        "{}",
        error_text()
    );
}

#[test]
fn invalid_options_are_reported_at_once() {
    let directory = TempDir::new().unwrap();
    let token_file = file(&directory, "token", "secret");
    let mut options = RemoteOptions::new("runner.example:9445".parse().unwrap());
    options.token_file = Some(token_file.clone());
    let refused = RemoteEvaluator::new(options).err();
    assert!(matches!(refused, Some(SetupError::TokenInClear)));

    let mut options = RemoteOptions::new("https://runner.example:9445".parse().unwrap());
    options.token_file = Some(token_file);
    let ca = file(&directory, "ca.pem", "no certificate\n");
    options.tls = Some(TlsFiles {
        ca: Some(ca),
        ..TlsFiles::default()
    });
    let refused = RemoteEvaluator::new(options.clone()).err();
    assert!(
        matches!(refused, Some(SetupError::Tls { .. })),
        "{refused:?}"
    );

    options.tls = Some(TlsFiles {
        ca: Some(directory.path().join("absent")),
        ..TlsFiles::default()
    });
    let refused = RemoteEvaluator::new(options).err().unwrap();
    assert!(refused.to_string().starts_with("cannot read "), "{refused}");
}
