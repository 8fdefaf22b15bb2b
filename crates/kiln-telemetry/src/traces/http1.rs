//! One POST over HTTP/1.1, with or without TLS. Batches are seconds apart, so each has a connection of its own.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, HOST, HeaderMap};
use ::http::{HeaderValue, Request, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::TraceSettings;

/// How much of an answer is read; a collector says next to nothing.
const MAX_ANSWER: usize = 64 * 1024;

/// Why a batch was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SendError {
    pub(super) text: String,
    /// Whether it may be taken later.
    pub(super) may_pass: bool,
}

impl SendError {
    pub(super) fn timed_out(timeout: Duration) -> SendError {
        SendError {
            text: format!("no answer within {timeout:?}"),
            may_pass: false,
        }
    }

    fn transport(what: &str, error: &dyn fmt::Display) -> SendError {
        SendError {
            text: format!("{what}: {error}"),
            may_pass: true,
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where and how to POST.
pub(super) struct HttpSender {
    uri: Uri,
    headers: HeaderMap,
    /// How to speak TLS with whom.
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl HttpSender {
    pub(super) fn new(settings: TraceSettings) -> Result<HttpSender, String> {
        let uri = &settings.endpoint;
        let mut headers: HeaderMap = settings.headers.iter().cloned().collect();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        // A name and password in an address are for nobody's eyes.
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = HeaderValue::from_str(host).map_err(|error| error.to_string())?;
        headers.insert(HOST, host);
        let tls = if uri.scheme_str() == Some("https") {
            let name = host_of(uri).to_owned();
            let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
            Some((TlsConnector::from(Arc::new(tls(&settings)?)), name))
        } else {
            None
        };
        Ok(HttpSender {
            uri: settings.endpoint,
            headers,
            tls,
        })
    }

    /// Sends a batch and waits until it is taken.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), SendError> {
        let default_port = if self.tls.is_some() { 443 } else { 80 };
        let port = self.uri.port_u16().unwrap_or(default_port);
        let stream = TcpStream::connect((host_of(&self.uri), port)).await;
        let stream = stream.map_err(|error| SendError::transport("cannot connect", &error))?;
        match &self.tls {
            None => self.post(stream, body).await,
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await;
                let stream = stream.map_err(|error| SendError::transport("TLS", &error))?;
                self.post(stream, body).await
            }
        }
    }

    async fn post<S>(&self, stream: S, body: Bytes) -> Result<(), SendError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let lost = |error: hyper::Error| SendError::transport("connection lost", &error);
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path)
            .body(Full::new(body))
            .map_err(|error| SendError::transport("bad request", &error))?;
        *request.headers_mut() = self.headers.clone();
        let exchange = async {
            let response = sender.send_request(request).await.map_err(lost)?;
            let status = response.status();
            // Whatever it says: the status has said it.
            let _ = Limited::new(response.into_body(), MAX_ANSWER)
                .collect()
                .await;
            Ok(status)
        };
        // The connection has to be driven while the exchange goes on; when it ends first, the exchange knows.
        tokio::pin!(exchange);
        let status = tokio::select! {
            status = &mut exchange => status?,
            _ = connection => exchange.await?,
        };
        if status.is_success() {
            return Ok(());
        }
        let may_pass = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        Err(SendError {
            text: format!("the collector answers {status}"),
            may_pass,
        })
    }
}

/// The host as it is dialled, without the brackets of IPv6.
fn host_of(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}

fn tls(settings: &TraceSettings) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match &settings.ca {
        Some(path) => {
            for certificate in certificates(path)? {
                roots
                    .add(certificate)
                    .map_err(|error| in_file(path, &error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let (Some(certificate), Some(key)) = (&settings.client_certificate, &settings.client_key)
    else {
        return Ok(config.with_no_client_auth());
    };
    let chain = certificates(certificate)?;
    let parsed =
        PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| in_file(key, &error))?;
    config
        .with_client_auth_cert(chain, parsed)
        .map_err(|error| in_file(certificate, &error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = read(path)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let parsed = parsed.map_err(|error| in_file(path, &error))?;
    if parsed.is_empty() {
        return Err(in_file(path, &"holds no certificate"));
    }
    Ok(parsed)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
