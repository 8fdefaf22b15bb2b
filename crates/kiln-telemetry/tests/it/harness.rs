//! A server with telemetry, functions made for tests, and a client.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_runtime::{
    Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError, Runner,
};
use kiln_server::{Options, Server, StopHandle};
use kiln_telemetry::{Exporters, LogFormat, LogOptions, Telemetry, outgoing_context};
use serde_json::Value;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};
use tracing::Dispatch;
use tracing::dispatcher::DefaultGuard;

pub(crate) const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
";

/// The dispatch of all threads of a test, once the server has started.
pub(crate) type SharedDispatch = Arc<OnceLock<Dispatch>>;

/// Runs a test on a runtime with one worker thread and blocking threads, all with the same dispatch.
pub(crate) fn run(test: impl AsyncFnOnce(SharedDispatch)) {
    let shared = SharedDispatch::default();
    let of_threads = Arc::clone(&shared);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_start(move || {
            if let Some(dispatch) = of_threads.get() {
                std::mem::forget(tracing::dispatcher::set_default(dispatch));
            }
        })
        .build();
    runtime.expect("a runtime").block_on(test(shared));
}

/// A running server with telemetry and a client.
pub(crate) struct TestServer {
    pub(crate) telemetry: Telemetry,
    channel: Channel,
    stop: StopHandle,
    server: JoinHandle<()>,
    log: Buffer,
    functions: Arc<Functions>,
    _default: DefaultGuard,
}

/// The log.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn records(&self) -> Vec<Value> {
        let bytes = self.0.lock().expect("a lock").clone();
        let text = String::from_utf8(bytes).expect("text");
        let record = |line| serde_json::from_str(line).expect("JSON");
        text.lines().map(record).collect()
    }
}

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `good` returns its input, `fails` exits with 3.
#[derive(Default)]
struct Functions {
    /// The outgoing trace context of the last function.
    context: Mutex<Vec<(&'static str, String)>>,
}

struct Function {
    exit_code: i32,
    functions: Arc<Functions>,
}

struct TestEvaluator(Arc<Functions>);

impl Evaluator for TestEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let exit_code = match function.name() {
            "good" => 0,
            "fails" => 3,
            _ => return Err(FindError::not_found(function)),
        };
        Ok(Found::blocking(Function {
            exit_code,
            functions: Arc::clone(&self.0),
        }))
    }
}

impl Runner for Function {
    fn run(&self, input: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        *self.functions.context.lock().expect("a lock") = outgoing_context();
        Ok(Outcome {
            exit_code: self.exit_code,
            signal: None,
            output: Output::Wire(input.wire().to_owned().into()),
            stderr: b"output".to_vec(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}

/// The exporters that variables configure.
pub(crate) fn exporters(variables: &[(&str, &str)]) -> Exporters {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Exporters::from_variables("function-runner", &variable).expect("good variables")
}

impl TestServer {
    pub(crate) async fn new(
        dispatch_cell: SharedDispatch,
        variables: &[(&str, &str)],
    ) -> TestServer {
        let log = Buffer::default();
        let log_options = LogOptions {
            level: "2".parse().expect("a level"),
            format: LogFormat::Json,
            output: Box::new(log.clone()),
        };
        let (telemetry, dispatch) =
            Telemetry::start(log_options, exporters(variables)).expect("telemetry");
        let functions = Arc::new(Functions::default());
        assert!(
            dispatch_cell.set(dispatch.clone()).is_ok(),
            "one server per run"
        );
        let evaluator = TestEvaluator(Arc::clone(&functions));
        let evaluators = EvaluatorChain::new(vec![("exec", Arc::new(evaluator))]);
        let options = Options {
            observer: telemetry.observer(None),
            ..Options::default()
        };
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(address, evaluators, options).await;
        let server = server.expect("a port");
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address()));
        TestServer {
            telemetry,
            channel: endpoint.expect("an address").connect_lazy(),
            stop: server.stop(),
            _default: tracing::dispatcher::set_default(&dispatch),
            server: tokio::spawn(server.run()),
            log,
            functions,
        }
    }

    pub(crate) async fn call(
        &self,
        image: &str,
        metadata: &[(&'static str, &str)],
    ) -> Result<EvaluateFunctionResponse, Status> {
        let mut client = FunctionEvaluatorClient::new(self.channel.clone());
        let mut request = Request::new(EvaluateFunctionRequest {
            resource_list: LIST.into(),
            image: image.to_owned(),
        });
        for (name, value) in metadata {
            let value = value.parse().expect("a value");
            request.metadata_mut().insert(*name, value);
        }
        let response = client.evaluate_function(request).await;
        response.map(Response::into_inner)
    }

    /// The outgoing trace context of the last function.
    pub(crate) fn context(&self) -> Vec<(&'static str, String)> {
        self.functions.context.lock().expect("a lock").clone()
    }

    /// The records of the log.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.log.records()
    }

    /// Ends server and telemetry, and returns the records of the log.
    pub(crate) async fn end(self) -> Vec<Value> {
        self.stop.drain();
        self.server.await.expect("an end");
        self.telemetry.shutdown(Duration::from_secs(60)).await;
        self.log.records()
    }
}
