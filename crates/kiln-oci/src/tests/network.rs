//! A network in memory: sites by host and port, their responses, and the requests they received.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

use crate::http::dial::{ByteStream, Dial};
use crate::http::tls_roots::TlsRoots;
use crate::{RegistryClient, RegistryOptions};

/// A request that a site received.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    pub(super) site: String,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) authorization: Option<String>,
    pub(super) body: Bytes,
    pub(super) content_type: String,
}

/// The response of a site.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Reply {
    pub(super) fn new(status: u16) -> Reply {
        Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Reply {
        let name = HeaderName::from_static(name);
        self.headers.push((name, value.parse().unwrap()));
        self
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Reply {
        self.body = body.into();
        self
    }
}

type Handler = Arc<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>;

#[derive(Clone)]
enum Site {
    Http {
        tls: Option<TlsAcceptor>,
        handler: Handler,
    },
    /// Accepts connections and sends nothing.
    Silent,
    /// Accepts connections and closes them.
    Closing,
    /// A proxy that requires this `Proxy-Authorization`.
    Proxy(Option<&'static str>),
}

/// All sites, with one certificate authority.
#[derive(Clone, Default)]
pub(super) struct TestNetwork {
    sites: Arc<Mutex<HashMap<String, Site>>>,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    authority: TestAuthority,
}

impl TestNetwork {
    /// Adds a site with a certificate of the network's authority. `site` is `host:port`.
    pub(super) fn add(
        &self,
        site: &str,
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) {
        let tls = Some(self.authority.acceptor(site.split(':').next().unwrap()));
        let handler: Handler = Arc::new(handler);
        self.insert(site, Site::Http { tls, handler });
    }

    /// Adds a site without TLS.
    pub(super) fn add_plain(
        &self,
        site: &str,
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) {
        let handler: Handler = Arc::new(handler);
        self.insert(site, Site::Http { tls: None, handler });
    }

    /// Adds a site that accepts connections and sends nothing.
    pub(super) fn add_silent(&self, site: &str) {
        self.insert(site, Site::Silent);
    }

    /// Adds a site that accepts connections and closes them.
    pub(super) fn add_closing(&self, site: &str) {
        self.insert(site, Site::Closing);
    }

    /// Adds a site to another network, whose clients do not trust its certificate.
    pub(super) fn add_untrusted_to(
        &self,
        other: &TestNetwork,
        site: &str,
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) {
        self.add(site, handler);
        let moved = self.sites.lock().unwrap().remove(site).unwrap();
        other.insert(site, moved);
    }

    /// Adds a proxy, with the `Proxy-Authorization` that it requires.
    pub(super) fn add_proxy(&self, site: &str, authorization: Option<&'static str>) {
        self.insert(site, Site::Proxy(authorization));
    }

    fn insert(&self, name: &str, site: Site) {
        self.sites.lock().unwrap().insert(name.to_owned(), site);
    }

    pub(super) fn remove(&self, site: &str) {
        self.sites.lock().unwrap().remove(site);
    }

    /// Moves a site to another host and port.
    pub(super) fn rename(&self, from: &str, to: &str) {
        let mut sites = self.sites.lock().unwrap();
        let site = sites.remove(from).unwrap();
        sites.insert(to.to_owned(), site);
    }

    /// A client whose system trusts the network's authority.
    pub(super) fn registry(&self, options: RegistryOptions) -> RegistryClient {
        let mut store = RootCertStore::empty();
        store.add(self.authority.issuer.der().clone()).unwrap();
        self.registry_with_roots(options, store)
    }

    /// A client whose system trusts `store`.
    pub(super) fn registry_with_roots(
        &self,
        options: RegistryOptions,
        store: RootCertStore,
    ) -> RegistryClient {
        let tls_roots = TlsRoots::with_system(options.ca_directory.clone(), store);
        RegistryClient::with_parts(options, Arc::new(self.clone()), tls_roots)
    }

    /// The requests since the last call, as `METHOD site target authorization`.
    pub(super) fn requests(&self) -> Vec<String> {
        let received = std::mem::take(&mut *self.received.lock().unwrap());
        let line = |request: ReceivedRequest| {
            let authorization = request.authorization.unwrap_or_default();
            let line = format!(
                "{} {}{} {authorization}",
                request.method, request.site, request.target
            );
            line.trim_end().to_owned()
        };
        received.into_iter().map(line).collect()
    }

    /// The certificate of the network's authority in PEM.
    pub(super) fn ca_pem(&self) -> String {
        self.authority.issuer.pem()
    }
}

impl Dial for TestNetwork {
    fn dial(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        let name = format!("{host}:{port}");
        let site = self.sites.lock().unwrap().get(&name).cloned();
        let network = self.clone();
        Box::pin(async move {
            let site = site.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            let (client, server) = tokio::io::duplex(64 << 10);
            match site {
                Site::Proxy(authorization) => {
                    tokio::spawn(tunnel(network, name, authorization, server));
                }
                Site::Closing => drop(server),
                site => drop(tokio::spawn(serve(name, site, server, network.received))),
            }
            Ok(Box::new(client) as Box<dyn ByteStream>)
        })
    }
}

/// A proxy: reads the `CONNECT` request, and copies bytes.
async fn tunnel(
    network: TestNetwork,
    name: String,
    wanted: Option<&'static str>,
    mut stream: tokio::io::DuplexStream,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.split(' ').nth(1).unwrap().to_owned();
    let sent = head.split("Proxy-Authorization: ").nth(1);
    let sent = sent.and_then(|rest| rest.lines().next());
    network.received.lock().unwrap().push(ReceivedRequest {
        site: name,
        method: head.split(' ').next().unwrap().to_owned(),
        target: format!("/{target}"),
        authorization: sent.map(str::to_owned),
        body: Bytes::new(),
        content_type: String::new(),
    });
    if sent != wanted {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
        return stream.write_all(refusal).await;
    }
    let (host, port) = target.rsplit_once(':').unwrap();
    let mut to = network.dial(host.to_owned(), port.parse().unwrap()).await?;
    let done = b"HTTP/1.1 200 Connection established\r\n\r\n";
    stream.write_all(done).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut to)
        .await
        .map(drop)
}

async fn serve(
    name: String,
    site: Site,
    stream: tokio::io::DuplexStream,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
) {
    let Site::Http { tls, handler } = site else {
        // Open for as long as the test runs.
        std::future::pending::<()>().await;
        return drop(stream);
    };
    let stream: Box<dyn ByteStream> = match &tls {
        None => Box::new(stream),
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
    };
    let service = service_fn(|request: Request<Incoming>| {
        let (name, handler, log) = (name.clone(), Arc::clone(&handler), Arc::clone(&log));
        async move {
            let request = receive(name, request).await;
            log.lock().unwrap().push(request.clone());
            Ok::<_, Infallible>(respond(handler(&request)))
        }
    });
    // A client may close the connection early, or send something else than HTTP.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn receive(site: String, request: Request<Incoming>) -> ReceivedRequest {
    let (parts, body) = request.into_parts();
    let header = |name: &str| {
        let value = parts.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    ReceivedRequest {
        site,
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        authorization: header("authorization"),
        content_type: header("content-type").unwrap_or_default(),
        body: body
            .collect()
            .await
            .map(|body| body.to_bytes())
            .unwrap_or_default(),
    }
}

fn respond(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    for (name, value) in reply.headers {
        response.headers_mut().append(name, value);
    }
    response
}

#[derive(Clone)]
pub(super) struct TestAuthority {
    issuer: Arc<CertifiedIssuer<'static, KeyPair>>,
}

impl Default for TestAuthority {
    fn default() -> TestAuthority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap());
        TestAuthority {
            issuer: Arc::new(issuer.unwrap()),
        }
    }
}

impl TestAuthority {
    fn acceptor(&self, host: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    pub(super) fn pem(&self) -> String {
        self.issuer.pem()
    }
}
