//! Routes requests to services.

mod parts;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use kiln_proto::SERVICE;
use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_proto::failure;
use kiln_proto::parts::STREAMING_PATH;
use kiln_proto::peer::{MessageLimits, PeerFacts, gzip};
use prost::Message as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic_health::pb::health_server::HealthServer;
use tower_service::Service as _;

use crate::answer;
use crate::body::{ReceiveError, RequestLimits, SmallMessages, WholeBody, decompress, receive};
use crate::codec::EvaluateCodec;
use crate::connections::{ClientReset, Connections, OpenConnection};
use crate::health::HealthService;
use crate::memory::{MemoryCharge, MemoryPools, PoolFull, StreamKind};
use crate::options::Options;
use crate::service::{Arrival, Service};
use crate::status;
use crate::streams;
use crate::token::BearerToken;

pub(crate) struct Router {
    service: Arc<Service>,
    health: HealthServer<HealthService>,
    reflection: Vec<(&'static str, Box<Handler>)>,
    reflections: Arc<Semaphore>,
    token: Option<Arc<BearerToken>>,
    memory_pools: Arc<MemoryPools>,
    message_limits: MessageLimits,
    connections: Arc<Connections>,
    request_timeout: Duration,
}

/// Answers requests that have passed the router.
type Handler = dyn Fn(Request<Body>) -> ResponseFuture + Send + Sync;

pub(crate) type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// The service of health checks.
const HEALTH: &str = tonic_health::pb::health_server::SERVICE_NAME;

/// Maximum size of a health check, and of all requests of a reflection stream.
const MAX_HEALTH_CHECK: usize = 4 * 1024;
const MAX_REFLECTION: usize = 64 * 1024;

/// Maximum number of reflection streams. Their requests wait unread while the client does not read responses.
const MAX_REFLECTIONS: usize = 32;

impl Router {
    pub(crate) fn new(
        service: Arc<Service>,
        health: HealthService,
        options: &Options,
        connections: Arc<Connections>,
    ) -> Router {
        let message_limits = options.message_limits();
        Router {
            service,
            health: HealthServer::new(health),
            reflection: reflection(),
            reflections: Arc::new(Semaphore::new(MAX_REFLECTIONS)),
            token: options.token.clone(),
            memory_pools: MemoryPools::new(options.max_held_bytes, message_limits.kiln),
            message_limits,
            connections,
            request_timeout: options.connections.request_timeout,
        }
    }

    pub(crate) fn memory_pools(&self) -> &Arc<MemoryPools> {
        &self.memory_pools
    }

    /// Answers a request that came on a connection.
    pub(crate) fn route(
        &self,
        request: Request<Incoming>,
        connection: &Arc<OpenConnection>,
    ) -> ResponseFuture {
        let is_grpc = request.headers().get(CONTENT_TYPE).is_some_and(is_grpc);
        if !is_grpc {
            return ready(not_grpc());
        }
        let message_limits = self.message_limits;
        let answering = self.answer(request, connection);
        Box::pin(async move {
            let mut response = answering.await?;
            message_limits.announce(response.headers_mut());
            Ok(response)
        })
    }

    fn answer(
        &self,
        request: Request<Incoming>,
        connection: &Arc<OpenConnection>,
    ) -> ResponseFuture {
        let path = request.uri().path();
        let (service, method) = split(path);
        if service == HEALTH {
            return self.check_health(request, connection);
        }
        if let Some(token) = &self.token
            && !token.is_valid_in(request.headers())
        {
            let text = "missing or invalid bearer token";
            return refuse(&Status::unauthenticated(text));
        }
        let streamed = match path {
            STREAMING_PATH => self.message_limits.streamed(),
            _ => None,
        };
        let is_call = service == SERVICE && method == "EvaluateFunction" || streamed.is_some();
        if is_call && !self.connections.takes_calls(connection) {
            return refuse(&status::too_many_connections());
        }
        if is_call {
            return match streamed {
                Some(limit) => self.evaluate_parts(request, connection, limit),
                None => self.evaluate(request, connection),
            };
        }
        let reflection = self.reflection.iter().find(|(name, _)| *name == service);
        if let Some((_, handler)) = reflection {
            return match Arc::clone(&self.reflections).try_acquire_owned() {
                Ok(permit) => reflect(permit, handler(request.map(small_messages))),
                Err(_) => refuse(&status::too_many_reflections()),
            };
        }
        let text = if service == SERVICE {
            format!("unknown method {method} for service {service}")
        } else {
            format!("unknown service {service}")
        };
        refuse(&Status::unimplemented(text))
    }

    fn check_health(
        &self,
        request: Request<Incoming>,
        connection: &Arc<OpenConnection>,
    ) -> ResponseFuture {
        let kind = match split(request.uri().path()) {
            (_, "Check") => StreamKind::Check,
            _ => StreamKind::Other,
        };
        let stream = self.charge(connection).for_stream(kind, &request);
        let Ok(stream) = stream else {
            return refuse(&status::too_many_streams());
        };
        let mut health = self.health.clone();
        let limits = self.limits(MAX_HEALTH_CHECK);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let message = match receive(body, &limits, None).await {
                Ok(message) => message,
                Err(error) => return Ok(not_received(&error)),
            };
            let body = Body::new(WholeBody::new(message));
            let response = health.call(Request::from_parts(parts, body)).await?;
            Ok(answer::fit(response, None, stream))
        })
    }

    /// An empty charge to the connection.
    fn charge(&self, connection: &OpenConnection) -> MemoryCharge {
        let (of_connection, of_peer) = connection.accounts();
        MemoryCharge::new(Arc::clone(&self.memory_pools), of_connection, of_peer)
    }

    /// Charges the stream of a call whose messages have at most `max_message_size` bytes.
    fn begin(
        &self,
        request: &Request<Incoming>,
        connection: &OpenConnection,
        max_message_size: usize,
        max_answer: Option<usize>,
    ) -> Result<ArrivingCall, PoolFull> {
        let stream = self.charge(connection);
        Ok(ArrivingCall {
            arrival: Arrival {
                at: Instant::now(),
                caller: connection.caller(),
                max_message_size,
                max_answer,
            },
            charge: self.charge(connection),
            stream: stream.for_stream(StreamKind::Other, request)?,
            room: answer::announced_room(request.headers()),
        })
    }

    fn evaluate(
        &self,
        request: Request<Incoming>,
        connection: &Arc<OpenConnection>,
    ) -> ResponseFuture {
        let service = Arc::clone(&self.service);
        let peer = PeerFacts::of(request.headers());
        let limits = self.limits(self.message_limits.receiving(peer));
        let connection = Arc::clone(connection);
        let Ok(arriving) = self.begin(&request, &connection, limits.size, peer.max_message) else {
            return refuse(&status::too_many_streams());
        };
        Box::pin(async move {
            let ArrivingCall {
                arrival,
                mut charge,
                stream,
                room,
            } = arriving;
            let (mut parts, body) = request.into_parts();
            let mut message = match receive(body, &limits, Some(&mut charge)).await {
                Ok(message) => message,
                Err(error) => return Ok(not_received(&error)),
            };
            if gzip::take_encoding(&mut parts.headers) && gzip::is_compressed(&message) {
                (message, charge) = match decompress(message, limits.size, charge).await {
                    Ok(decompressed) => decompressed,
                    Err(status) => return Ok(refusal(&status)),
                };
            }
            let call = connection.begin_call();
            parts.extensions.insert(arrival);
            let request = Request::from_parts(parts, WholeBody::new(message));
            let mut grpc = Grpc::new(EvaluateCodec)
                // The request has been checked against the limit.
                .max_decoding_message_size(usize::MAX);
            let size = Arc::new(AtomicUsize::new(0));
            let evaluate = Evaluate {
                service,
                answer_size: Arc::clone(&size),
            };
            let response = grpc.unary(evaluate, request).await;
            let mut size = size.load(Ordering::Relaxed);
            charge.replace(size);
            let mut response = response;
            if peer.accepts_gzip {
                let (mut parts, body) = response.into_parts();
                let (body, compressed) = gzip::compress_body(&mut parts.headers, body).await;
                response = Response::from_parts(parts, body);
                size = compressed.unwrap_or(size);
                charge.replace(size);
            }
            streams::end_stream_after(limits.time_for(size));
            Ok(answer::fit(response, room, (charge, stream, call)))
        })
    }

    fn limits(&self, size: usize) -> RequestLimits {
        RequestLimits {
            size,
            timeout: self.request_timeout,
        }
    }
}

/// A call whose request has not been received.
struct ArrivingCall {
    arrival: Arrival,
    /// Nothing is charged yet.
    charge: MemoryCharge,
    stream: MemoryCharge,
    /// How many bytes of details the caller accepts with a failure.
    room: Option<usize>,
}

/// The method of the evaluator service, for tonic.
struct Evaluate {
    service: Arc<Service>,
    answer_size: Arc<AtomicUsize>,
}

impl UnaryService<EvaluateFunctionRequest> for Evaluate {
    type Response = kiln_proto::evaluator::EvaluateFunctionResponse;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<Self::Response>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<EvaluateFunctionRequest>) -> Self::Future {
        let service = Arc::clone(&self.service);
        let answer_size = Arc::clone(&self.answer_size);
        Box::pin(async move {
            let answer = service.evaluate(request).await;
            let size = match &answer {
                Ok(response) => response.get_ref().encoded_len(),
                Err(status) => status.details().len(),
            };
            answer_size.store(size, Ordering::Relaxed);
            answer
        })
    }
}

/// `application/grpc`, with a suffix or parameters, as gRPC servers in Go accept it. `application/grpc-web` is another
/// protocol.
fn is_grpc(content_type: &HeaderValue) -> bool {
    let rest = content_type.as_bytes().strip_prefix(b"application/grpc");
    matches!(rest, Some([] | [b'+' | b';', ..]))
}

/// `/service/method`
fn split(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_once('/').unwrap_or((path, ""))
}

fn small_messages(body: Incoming) -> Body {
    Body::new(SmallMessages::new(body, MAX_REFLECTION))
}

/// Holds the permit while the stream is open.
fn reflect(permit: OwnedSemaphorePermit, answering: ResponseFuture) -> ResponseFuture {
    Box::pin(async move {
        let response = answering.await?;
        Ok(answer::fit(response, None, permit))
    })
}

fn refusal(status: &Status) -> Response<Body> {
    failure::fit(status, None).into_http()
}

fn not_received(error: &ReceiveError) -> Response<Body> {
    match error {
        ReceiveError::Refused(status) => refusal(status),
        ReceiveError::Broken(status) => {
            let mut response = refusal(status);
            response.extensions_mut().insert(ClientReset);
            response
        }
    }
}

fn refuse(status: &Status) -> ResponseFuture {
    ready(refusal(status))
}

fn ready(response: Response<Body>) -> ResponseFuture {
    Box::pin(std::future::ready(Ok(response)))
}

fn not_grpc() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let accepted = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("accept-post", accepted);
    response
}

/// Both versions of the reflection service: tools use either.
fn reflection() -> Vec<(&'static str, Box<Handler>)> {
    use tonic_reflection::server::Builder;
    let builder = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(kiln_proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut handlers: Vec<(&'static str, Box<Handler>)> = Vec::new();
    // Compiled-in descriptors are valid; if they were not, only reflection would be missing.
    if let Ok(server) = builder().build_v1() {
        let handler = move |request| {
            let mut server = server.clone();
            tower_service::Service::call(&mut server, request) as ResponseFuture
        };
        handlers.push(("grpc.reflection.v1.ServerReflection", Box::new(handler)));
    }
    if let Ok(server) = builder().build_v1alpha() {
        let handler = move |request| {
            let mut server = server.clone();
            tower_service::Service::call(&mut server, request) as ResponseFuture
        };
        handlers.push((
            "grpc.reflection.v1alpha.ServerReflection",
            Box::new(handler),
        ));
    }
    handlers
}

#[cfg(test)]
mod tests;
