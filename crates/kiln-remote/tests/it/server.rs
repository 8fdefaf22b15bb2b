//! A runner whose functions are closures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiln_proto::evaluator::function_evaluator_server::{
    FunctionEvaluator, FunctionEvaluatorServer,
};
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_remote::{RemoteEvaluator, RemoteOptions};
use kiln_runtime::{Evaluator as _, FunctionSpec, Input, Outcome, RunContext, RunError};
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

pub(crate) const IMAGE: &str = "example.com/fn:v1";

pub(crate) type Answer = Result<EvaluateFunctionResponse, Status>;

/// Answers calls.
pub(crate) type Evaluate = dyn Fn(&Request<EvaluateFunctionRequest>) -> Answer + Send + Sync;

struct Service {
    evaluate: Arc<Evaluate>,
    hanging: Option<Arc<Hanging>>,
}

/// Calls that are never answered.
#[derive(Default)]
pub(crate) struct Hanging {
    pub(crate) begun: tokio::sync::Notify,
    pub(crate) dropped: tokio::sync::Notify,
}

struct ReportDrop(Arc<Hanging>);

impl Drop for ReportDrop {
    fn drop(&mut self) {
        self.0.dropped.notify_one();
    }
}

#[tonic::async_trait]
impl FunctionEvaluator for Service {
    async fn evaluate_function(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        if let Some(hanging) = &self.hanging {
            let _report = ReportDrop(Arc::clone(hanging));
            hanging.begun.notify_one();
            return std::future::pending().await;
        }
        (self.evaluate)(&request).map(Response::new)
    }
}

/// A runner that stops when dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl TestServer {
    pub(crate) fn start(
        evaluate: impl Fn(&Request<EvaluateFunctionRequest>) -> Answer + Send + Sync + 'static,
    ) -> TestServer {
        TestServer::serve("127.0.0.1:0", Arc::new(evaluate), None, None)
    }

    pub(crate) fn hanging(hanging: Arc<Hanging>) -> TestServer {
        let evaluate = Arc::new(|_: &Request<_>| Err(Status::internal("unreachable")));
        TestServer::serve("127.0.0.1:0", evaluate, None, Some(hanging))
    }

    pub(crate) fn serve(
        address: &str,
        evaluate: Arc<Evaluate>,
        tls: Option<ServerTlsConfig>,
        hanging: Option<Arc<Hanging>>,
    ) -> TestServer {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let incoming = TcpListenerStream::new(listener).map(move |connection| {
            counter.fetch_add(1, Ordering::SeqCst);
            connection
        });
        let service = FunctionEvaluatorServer::new(Service { evaluate, hanging })
            .max_decoding_message_size(64 << 20);
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        runtime.spawn(server.add_service(service).serve_with_incoming(incoming));
        TestServer {
            address,
            connections,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn options(&self) -> RemoteOptions {
        RemoteOptions::new(self.address.to_string().parse().unwrap())
    }

    pub(crate) fn evaluator(&self) -> RemoteEvaluator {
        RemoteEvaluator::new(self.options()).unwrap()
    }

    /// Waits for a condition in the runner.
    pub(crate) fn wait_for(&self, notify: &tokio::sync::Notify) {
        self.runtime.as_ref().unwrap().block_on(notify.notified());
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Its port is free afterwards.
            runtime.shutdown_timeout(Duration::from_secs(60));
        }
    }
}

/// Returns the request's list.
pub(crate) fn echo(request: &Request<EvaluateFunctionRequest>) -> Answer {
    let message = request.get_ref();
    Ok(EvaluateFunctionResponse {
        resource_list: message.resource_list.clone(),
        log: message.image.clone().into(),
    })
}

/// Runs the function on an empty list.
pub(crate) fn run(evaluator: &RemoteEvaluator, ctx: &RunContext) -> Result<Outcome, RunError> {
    let runner = evaluator
        .find(&FunctionSpec::image(IMAGE))
        .unwrap()
        .into_runner();
    let input = Input::new(kiln_krm::Dialect::Current, &[], None);
    runner.run(&input, ctx)
}
