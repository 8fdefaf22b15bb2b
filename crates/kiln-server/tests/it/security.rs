//! TLS, certificates of clients, tokens, and files that are replaced.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_server::{BearerToken, Options, Tls, TlsFiles, Words};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::harness::{LIST, TestServer, request};

/// A CA that signs certificates.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        Authority { issuer }
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

struct Files {
    directory: TempDir,
}

impl Files {
    fn new(authority: &Authority) -> Files {
        let files = Files {
            directory: tempfile::tempdir().expect("a directory"),
        };
        files.write(authority);
        files
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, authority: &Authority) {
        let (certificate, key) = authority.sign("localhost");
        fs::write(self.path().join("cert"), certificate).expect("a file");
        fs::write(self.path().join("key"), key).expect("a file");
    }

    fn tls(&self, client_ca: Option<&Authority>) -> Arc<Tls> {
        let client_ca = client_ca.map(|authority| {
            let path = self.path().join("ca");
            fs::write(&path, authority.pem()).expect("a file");
            path
        });
        let files = TlsFiles {
            certificate: self.path().join("cert"),
            key: self.path().join("key"),
            client_ca,
        };
        Arc::new(Tls::load(files).expect("certificates"))
    }
}

async fn secure(tls: Arc<Tls>) -> TestServer {
    let options = Options {
        tls: Some(tls),
        ..Options::default()
    };
    TestServer::with(options, Words::Runner).await
}

async fn connect(
    test_server: &TestServer,
    authority: &Authority,
    identity: Option<(String, String)>,
) -> Result<Channel, tonic::transport::Error> {
    let mut tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .domain_name("localhost");
    if let Some((certificate, key)) = identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", test_server.address));
    let endpoint = endpoint.expect("an address").tls_config(tls);
    endpoint.expect("a configuration").connect().await
}

async fn call(channel: Channel) -> Result<(), tonic::Status> {
    let mut client = FunctionEvaluatorClient::new(channel);
    client
        .evaluate_function(request("tree", LIST))
        .await
        .map(drop)
}

#[tokio::test]
async fn clients_that_trust_the_certificate_are_served() {
    let authority = Authority::new();
    let files = Files::new(&authority);
    let test_server = secure(files.tls(None)).await;
    let channel = connect(&test_server, &authority, None)
        .await
        .expect("a connection");
    call(channel).await.expect("a list");
    let stranger = Authority::new();
    assert!(connect(&test_server, &stranger, None).await.is_err());
}

#[tokio::test]
async fn clients_without_the_right_certificate_are_not_served() {
    let authority = Authority::new();
    let files = Files::new(&authority);
    let test_server = secure(files.tls(Some(&authority))).await;
    let right = Some(authority.sign("client"));
    let channel = connect(&test_server, &authority, right)
        .await
        .expect("a connection");
    call(channel).await.expect("a list");
    let wrong = Some(Authority::new().sign("client"));
    for identity in [None, wrong] {
        // With TLS 1.3 a client notices it when it first reads.
        let refused = match connect(&test_server, &authority, identity).await {
            Ok(channel) => call(channel).await.is_err(),
            Err(_) => true,
        };
        assert!(refused);
    }
}

#[tokio::test]
async fn new_certificates_are_used_and_bad_ones_are_not() {
    let old = Authority::new();
    let files = Files::new(&old);
    let test_server = secure(files.tls(None)).await;
    connect(&test_server, &old, None)
        .await
        .expect("a connection");

    fs::write(files.path().join("cert"), "no certificate").expect("a file");
    connect(&test_server, &old, None)
        .await
        .expect("the old certificate");

    let new = Authority::new();
    files.write(&new);
    let channel = connect(&test_server, &new, None)
        .await
        .expect("the new certificate");
    call(channel).await.expect("a list");
    assert!(connect(&test_server, &old, None).await.is_err());
}

#[tokio::test]
async fn plaintext_finds_no_way_into_a_server_with_tls() {
    let files = Files::new(&Authority::new());
    let test_server = secure(files.tls(None)).await;
    let endpoint = Endpoint::from_shared(format!("http://{}", test_server.address));
    let channel = endpoint.expect("an address").connect_lazy();
    let status = call(channel).await.expect_err("no way");
    assert_ne!(status.code(), Code::Ok);
}

#[test]
fn files_that_are_not_certificates_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let cert = directory.path().join("cert");
    fs::write(&cert, "x").expect("a file");
    let files = TlsFiles {
        certificate: cert.clone(),
        key: cert.clone(),
        client_ca: None,
    };
    let error = Tls::load(files).err().expect("no certificate");
    let source = std::error::Error::source(&error).map(ToString::to_string);
    let wanted = format!("{}: it contains no certificate", cert.display());
    assert_eq!(source, Some(wanted));
}

#[tokio::test]
async fn a_token_is_required_of_callers_but_not_of_probes() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("token");
    fs::write(&path, "secret\n").expect("a file");
    let token = BearerToken::load(path.clone()).expect("a token");
    let options = Options {
        token: Some(Arc::new(token)),
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    let mut client = test_server.client().await;
    let mut call = async |token: Option<&str>| {
        let mut request = request("tree", LIST);
        if let Some(token) = token {
            let value = token.parse().expect("a value");
            request.metadata_mut().insert("authorization", value);
        }
        let answer = client.evaluate_function(request).await;
        answer.map(drop).map_err(|status| status.code())
    };
    let unknown = Err(Code::Unauthenticated);
    assert_eq!(call(None).await, unknown);
    assert_eq!(call(Some("Bearer secre")).await, unknown);
    assert_eq!(call(Some("Bearer secret2")).await, unknown);
    assert_eq!(call(Some("secret")).await, unknown);
    assert_eq!(call(Some("Bearer secret")).await, Ok(()));
    fs::write(&path, "other").expect("a file");
    assert_eq!(call(Some("Bearer secret")).await, unknown);
    assert_eq!(call(Some("bearer other")).await, Ok(()));
    let status = crate::health::check(test_server.channel().await, "").await;
    assert_eq!(status, Ok(1));
}
