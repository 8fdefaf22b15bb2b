//! A collector that stores the received requests, over HTTP/1.1 or gRPC, with or without TLS.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tonic::Status;

/// The received requests.
#[derive(Clone, Default)]
pub(crate) struct Received {
    pub(crate) requests: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    pub(crate) headers: Arc<Mutex<Vec<HeaderMap>>>,
    pub(crate) paths: Arc<Mutex<Vec<String>>>,
    /// Statuses of the first responses.
    pub(crate) refusals: Arc<Mutex<Vec<StatusCode>>>,
}

impl Received {
    /// All spans, oldest first.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.requests.lock().expect("a lock").clone();
        let resources = requests
            .into_iter()
            .flat_map(|request| request.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// The attributes of the service.
    pub(crate) fn resource(&self) -> Vec<(String, String)> {
        let requests = self.requests.lock().expect("a lock");
        let resource = requests[0].resource_spans[0].resource.clone();
        attributes(&resource.expect("a resource").attributes)
    }
}

/// Attributes as text, sorted by name.
pub(crate) fn attributes(attributes: &[KeyValue]) -> Vec<(String, String)> {
    let text = |attribute: &KeyValue| {
        let value = attribute.value.clone().and_then(|value| value.value);
        let value = match value {
            Some(Value::StringValue(text)) => text,
            Some(Value::IntValue(number)) => number.to_string(),
            other => format!("{other:?}"),
        };
        (attribute.key.clone(), value)
    };
    let mut attributes: Vec<(String, String)> = attributes.iter().map(text).collect();
    attributes.sort();
    attributes
}

/// Listens for OTLP over HTTP.
pub(crate) async fn http(tls: Option<TlsAcceptor>) -> (SocketAddr, Received) {
    let received = Received::default();
    let stored = received.clone();
    let address = listen(tls, move |stream| {
        let received = stored.clone();
        async move {
            let service = service_fn(|request| take(received.clone(), request));
            let builder = hyper::server::conn::http1::Builder::new();
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
    });
    (address.await, received)
}

/// Listens for OTLP over gRPC.
pub(crate) async fn grpc() -> (SocketAddr, Received) {
    let received = Received::default();
    let server = TraceServiceServer::new(received.clone());
    let address = listen(None, move |stream| {
        let server = server.clone();
        async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let mut server = server.clone();
                async move { tonic::codegen::Service::call(&mut server, request).await }
            });
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
    });
    (address.await, received)
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn listen<F, S>(tls: Option<TlsAcceptor>, serve: F) -> SocketAddr
where
    F: Fn(Box<dyn Stream>) -> S + Send + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let stream: Box<dyn Stream> = match &tls {
                None => Box::new(stream),
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => Box::new(stream),
                    Err(_) => continue,
                },
            };
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn take(
    received: Received,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    received.headers.lock().expect("a lock").push(head.headers);
    let path = format!("{} {}", head.method, head.uri);
    received.paths.lock().expect("a lock").push(path);
    let mut response = Response::new(Full::new(Bytes::new()));
    if let Some(refusal) = received.refusals.lock().expect("a lock").pop() {
        *response.status_mut() = refusal;
        return Ok(response);
    }
    let message = ExportTraceServiceRequest::decode(body).expect("a message");
    received.requests.lock().expect("a lock").push(message);
    Ok(response)
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        let headers = metadata.into_headers();
        self.headers.lock().expect("a lock").push(headers);
        self.requests.lock().expect("a lock").push(message);
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}
