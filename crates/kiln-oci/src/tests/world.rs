//! A network in memory: sites by host and port, what they answer, and what they were asked.

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

use crate::http::dial::{Dial, Stream};
use crate::http::trust::Trust;
use crate::{Registry, RegistryOptions};

/// What a site was asked.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) site: String,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) authorization: Option<String>,
    pub(super) body: Bytes,
    pub(super) content_type: String,
}

/// What it answers.
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

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

#[derive(Clone)]
enum Site {
    Http {
        tls: Option<TlsAcceptor>,
        handler: Handler,
    },
    /// Takes connections and does nothing with them.
    Silent,
    /// Takes connections and ends them.
    Closing,
    /// Passes connections on, if it is shown this.
    Proxy(Option<&'static str>),
}

/// All sites.
#[derive(Clone, Default)]
pub(super) struct World {
    sites: Arc<Mutex<HashMap<String, Site>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    authority: Authority,
}

impl World {
    /// Adds a site with a certificate of the world's authority. `site` is `host:port`.
    pub(super) fn add(&self, site: &str, handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) {
        let tls = Some(self.authority.acceptor(site.split(':').next().unwrap()));
        let handler: Handler = Arc::new(handler);
        self.insert(site, Site::Http { tls, handler });
    }

    /// Adds a site that speaks no TLS.
    pub(super) fn add_plain(
        &self,
        site: &str,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) {
        let handler: Handler = Arc::new(handler);
        self.insert(site, Site::Http { tls: None, handler });
    }

    /// Adds a site that takes connections and never says anything.
    pub(super) fn add_silent(&self, site: &str) {
        self.insert(site, Site::Silent);
    }

    /// Adds a site that takes connections and ends them at once.
    pub(super) fn add_closing(&self, site: &str) {
        self.insert(site, Site::Closing);
    }

    /// Adds a site of this world to another, where nobody trusts its certificate.
    pub(super) fn move_to(
        &self,
        other: &World,
        site: &str,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) {
        self.add(site, handler);
        let moved = self.sites.lock().unwrap().remove(site).unwrap();
        other.insert(site, moved);
    }

    /// Adds a site that connects to others, for those who show the right thing.
    pub(super) fn add_proxy(&self, site: &str, authorization: Option<&'static str>) {
        self.insert(site, Site::Proxy(authorization));
    }

    fn insert(&self, name: &str, site: Site) {
        self.sites.lock().unwrap().insert(name.to_owned(), site);
    }

    /// Takes a site off the network.
    pub(super) fn remove(&self, site: &str) {
        self.sites.lock().unwrap().remove(site);
    }

    /// Puts what was at one place to another.
    pub(super) fn rename(&self, from: &str, to: &str) {
        let mut sites = self.sites.lock().unwrap();
        let site = sites.remove(from).unwrap();
        sites.insert(to.to_owned(), site);
    }

    /// A client whose system trusts the world's authority.
    pub(super) fn registry(&self, options: RegistryOptions) -> Registry {
        let mut store = RootCertStore::empty();
        store.add(self.authority.issuer.der().clone()).unwrap();
        self.registry_trusting(options, store)
    }

    /// A client whose system trusts these.
    pub(super) fn registry_trusting(
        &self,
        options: RegistryOptions,
        store: RootCertStore,
    ) -> Registry {
        let trust = Trust::with_system(options.authority.clone(), store);
        Registry::with_parts(options, Arc::new(self.clone()), trust)
    }

    /// What was asked since the last time, as `METHOD site target authorization`.
    pub(super) fn asked(&self) -> Vec<String> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        let line = |seen: Seen| {
            let authorization = seen.authorization.unwrap_or_default();
            let line = format!(
                "{} {}{} {authorization}",
                seen.method, seen.site, seen.target
            );
            line.trim_end().to_owned()
        };
        seen.into_iter().map(line).collect()
    }

    /// The world's authority in PEM.
    pub(super) fn authority_pem(&self) -> String {
        self.authority.issuer.pem()
    }
}

impl Dial for World {
    fn dial(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let name = format!("{host}:{port}");
        let site = self.sites.lock().unwrap().get(&name).cloned();
        let world = self.clone();
        Box::pin(async move {
            let site = site.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            let (client, server) = tokio::io::duplex(64 << 10);
            match site {
                Site::Proxy(authorization) => {
                    tokio::spawn(pass_on(world, name, authorization, server));
                }
                Site::Closing => drop(server),
                site => drop(tokio::spawn(serve(name, site, server, world.seen))),
            }
            Ok(Box::new(client) as Box<dyn Stream>)
        })
    }
}

/// What a proxy does: reads whom to connect to, and copies bytes.
async fn pass_on(
    world: World,
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
    let shown = head.split("Proxy-Authorization: ").nth(1);
    let shown = shown.and_then(|rest| rest.lines().next());
    world.seen.lock().unwrap().push(Seen {
        site: name,
        method: head.split(' ').next().unwrap().to_owned(),
        target: format!("/{target}"),
        authorization: shown.map(str::to_owned),
        body: Bytes::new(),
        content_type: String::new(),
    });
    if shown != wanted {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
        return stream.write_all(refusal).await;
    }
    let (host, port) = target.rsplit_once(':').unwrap();
    let mut to = world.dial(host.to_owned(), port.parse().unwrap()).await?;
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
    log: Arc<Mutex<Vec<Seen>>>,
) {
    let Site::Http { tls, handler } = site else {
        // Held for as long as the test runs.
        std::future::pending::<()>().await;
        return drop(stream);
    };
    let stream: Box<dyn Stream> = match &tls {
        None => Box::new(stream),
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
    };
    let service = service_fn(|request: Request<Incoming>| {
        let (name, handler, log) = (name.clone(), Arc::clone(&handler), Arc::clone(&log));
        async move {
            let seen = look(name, request).await;
            log.lock().unwrap().push(seen.clone());
            Ok::<_, Infallible>(respond(handler(&seen)))
        }
    });
    // A client that goes away, or does not speak HTTP, is no failure of the test.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn look(site: String, request: Request<Incoming>) -> Seen {
    let (parts, body) = request.into_parts();
    let header = |name: &str| {
        let value = parts.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    Seen {
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

/// Somebody who gives certificates.
#[derive(Clone)]
pub(super) struct Authority {
    issuer: Arc<CertifiedIssuer<'static, KeyPair>>,
}

impl Default for Authority {
    fn default() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap());
        Authority {
            issuer: Arc::new(issuer.unwrap()),
        }
    }
}

impl Authority {
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
