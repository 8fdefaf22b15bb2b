//! OTLP over HTTP/1.1, with or without TLS. Batches are seconds apart, so each one uses its own connection.

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
use kiln_tls::ClientIdentity;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::TraceSettings;

/// The largest response that is read. Responses of collectors are almost empty.
const MAX_RESPONSE: usize = 64 * 1024;

/// Why a batch was not sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ExportError {
    pub(super) text: String,
    /// Whether a retry may succeed.
    pub(super) is_transient: bool,
}

impl ExportError {
    pub(super) fn timed_out(timeout: Duration) -> ExportError {
        ExportError {
            text: format!("no response within {timeout:?}"),
            is_transient: false,
        }
    }

    fn transport(action: &str, error: &dyn fmt::Display) -> ExportError {
        ExportError {
            text: format!("{action}: {error}"),
            is_transient: true,
        }
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Sends batches to one endpoint.
pub(super) struct OtlpHttpClient {
    endpoint: Uri,
    headers: HeaderMap,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl OtlpHttpClient {
    pub(super) fn new(settings: TraceSettings) -> Result<OtlpHttpClient, String> {
        let endpoint = &settings.endpoint;
        let mut headers: HeaderMap = settings.headers.iter().cloned().collect();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        let authority = endpoint
            .authority()
            .map_or("", |authority| authority.as_str());
        // Username and password of the endpoint do not belong in the Host header.
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = HeaderValue::from_str(host).map_err(|error| error.to_string())?;
        headers.insert(HOST, host);
        let tls = if endpoint.scheme_str() == Some("https") {
            let name = host_of(endpoint).to_owned();
            let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
            let config = tls_config(&settings)?;
            Some((TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        Ok(OtlpHttpClient {
            endpoint: settings.endpoint,
            headers,
            tls,
        })
    }

    /// Sends a batch and waits for the response.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), ExportError> {
        let default_port = if self.tls.is_some() { 443 } else { 80 };
        let port = self.endpoint.port_u16().unwrap_or(default_port);
        let stream = TcpStream::connect((host_of(&self.endpoint), port)).await;
        let stream = stream.map_err(|error| ExportError::transport("cannot connect", &error))?;
        match &self.tls {
            None => self.post(stream, body).await,
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await;
                let stream =
                    stream.map_err(|error| ExportError::transport("TLS handshake", &error))?;
                self.post(stream, body).await
            }
        }
    }

    async fn post<S>(&self, stream: S, body: Bytes) -> Result<(), ExportError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let lost = |error: hyper::Error| ExportError::transport("connection lost", &error);
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        let path = self
            .endpoint
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let mut request = Request::post(path)
            .body(Full::new(body))
            .map_err(|error| ExportError::transport("invalid request", &error))?;
        *request.headers_mut() = self.headers.clone();
        let exchange = async {
            let response = sender.send_request(request).await.map_err(lost)?;
            let status = response.status();
            // Only the status counts.
            let _ = Limited::new(response.into_body(), MAX_RESPONSE)
                .collect()
                .await;
            Ok(status)
        };
        // The connection makes progress only while it is polled. If it ends first, the exchange returns the error.
        tokio::pin!(exchange);
        let status = tokio::select! {
            status = &mut exchange => status?,
            _ = connection => exchange.await?,
        };
        if status.is_success() {
            return Ok(());
        }
        let is_transient = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        Err(ExportError {
            text: format!("the collector returned {status}"),
            is_transient,
        })
    }
}

/// The host without the brackets of IPv6.
fn host_of(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}

fn tls_config(settings: &TraceSettings) -> Result<ClientConfig, String> {
    let roots = match &settings.ca_certificate {
        Some(path) => {
            kiln_tls::roots_from_pem(&read_file(path)?).map_err(|error| in_file(path, &error))?
        }
        None => kiln_tls::system_roots(),
    };
    let (Some(certificate), Some(key)) = (&settings.client_certificate, &settings.client_key)
    else {
        return kiln_tls::client_config(roots, None).map_err(|error| error.to_string());
    };
    let chain = kiln_tls::certificates(&read_file(certificate)?)
        .map_err(|error| in_file(certificate, &error))?;
    let identity =
        ClientIdentity::new(chain, &read_file(key)?).map_err(|error| in_file(key, &error))?;
    kiln_tls::client_config(roots, Some(identity)).map_err(|error| in_file(certificate, &error))
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
