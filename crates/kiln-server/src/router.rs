//! Which service a request is for.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use kiln_proto::SERVICE;
use kiln_proto::evaluator::EvaluateFunctionRequest;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic_health::pb::health_server::HealthServer;
use tower_service::Service as _;

use crate::body::LimitedBody;
use crate::codec::EvaluateCodec;
use crate::health::HealthService;
use crate::held::{Held, Store};
use crate::service::{Arrived, Service};
use crate::token::Token;

/// All services of a server.
pub(crate) struct Router {
    service: Arc<Service>,
    health: HealthServer<HealthService>,
    reflection: Vec<(&'static str, Box<Handler>)>,
    token: Option<Arc<Token>>,
    store: Store,
}

/// Answers requests that have passed the router.
type Handler = dyn Fn(Request<Body>) -> Answering + Send + Sync;

pub(crate) type Answering =
    Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// The service that probes ask.
const HEALTH: &str = tonic_health::pb::health_server::SERVICE_NAME;

/// Messages to services besides the one that evaluates are small.
const SMALL_MESSAGE: usize = 64 * 1024;

impl Router {
    pub(crate) fn new(
        service: Arc<Service>,
        health: HealthService,
        token: Option<Arc<Token>>,
        store: Store,
    ) -> Router {
        Router {
            service,
            health: HealthServer::new(health),
            reflection: reflection(),
            token,
            store,
        }
    }

    /// Answers a request.
    pub(crate) fn route(&self, request: Request<Incoming>) -> Answering {
        let is_grpc = request
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
        if !is_grpc {
            return ready(not_grpc());
        }
        let path = request.uri().path();
        let (service, method) = split(path);
        if service == HEALTH {
            let mut health = self.health.clone();
            return health.call(limited(request, SMALL_MESSAGE));
        }
        if let Some(token) = &self.token
            && !token.is_shown(request.headers())
        {
            let text = "this server wants a bearer token, and the request has none that is right";
            return ready(Status::unauthenticated(text).into_http());
        }
        if service == SERVICE && method == "EvaluateFunction" {
            return self.evaluate(request);
        }
        let reflection = self.reflection.iter().find(|(name, _)| *name == service);
        if let Some((_, handler)) = reflection {
            return handler(limited(request, SMALL_MESSAGE));
        }
        let text = if service == SERVICE {
            format!("unknown method {method} for service {service}")
        } else {
            format!("unknown service {service}")
        };
        ready(Status::unimplemented(text).into_http())
    }

    fn evaluate(&self, request: Request<Incoming>) -> Answering {
        let service = Arc::clone(&self.service);
        let limit = service.max_message_size();
        let held = Held::default();
        let store = self.store.clone();
        let mut request =
            request.map(|body| LimitedBody::new(body, limit).taking_from(store, held.clone()));
        request.extensions_mut().insert(Arrived(Instant::now()));
        Box::pin(async move {
            let mut grpc = Grpc::new(EvaluateCodec)
                // The body has its own limit, which says more when it is passed.
                .max_decoding_message_size(usize::MAX);
            let answer = grpc.unary(Evaluate(service), request).await;
            drop(held);
            Ok(answer)
        })
    }
}

/// The one method as tonic calls it.
struct Evaluate(Arc<Service>);

impl UnaryService<EvaluateFunctionRequest> for Evaluate {
    type Response = kiln_proto::evaluator::EvaluateFunctionResponse;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<Self::Response>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<EvaluateFunctionRequest>) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move { service.evaluate(request).await })
    }
}

/// `/service/method`
fn split(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_once('/').unwrap_or((path, ""))
}

fn limited(request: Request<Incoming>, limit: usize) -> Request<Body> {
    request.map(|body| Body::new(LimitedBody::new(body, limit)))
}

fn ready(response: Response<Body>) -> Answering {
    Box::pin(std::future::ready(Ok(response)))
}

fn not_grpc() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let accepted = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("accept-post", accepted);
    response
}

/// Both versions of the service that tells which services there are: tools ask for either.
fn reflection() -> Vec<(&'static str, Box<Handler>)> {
    use tonic_reflection::server::Builder;
    let builder = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(kiln_proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut handlers: Vec<(&'static str, Box<Handler>)> = Vec::new();
    // Descriptors that are compiled in can be read; without them nobody could ask, and no more.
    if let Ok(server) = builder().build_v1() {
        let handler = move |request| {
            let mut server = server.clone();
            tower_service::Service::call(&mut server, request) as Answering
        };
        handlers.push(("grpc.reflection.v1.ServerReflection", Box::new(handler)));
    }
    if let Ok(server) = builder().build_v1alpha() {
        let handler = move |request| {
            let mut server = server.clone();
            tower_service::Service::call(&mut server, request) as Answering
        };
        handlers.push((
            "grpc.reflection.v1alpha.ServerReflection",
            Box::new(handler),
        ));
    }
    handlers
}
