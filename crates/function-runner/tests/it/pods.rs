//! Pods in the chain, with an evaluator for these tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use function_runner::{
    CallObservers, Environment, Flavour, RunnerConfig, RunnerFlags, StartedPods, prepare,
};
use kiln_evaluators::FunctionConfigs;
use kiln_pages::status::PodsStatus;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_runtime::{
    AsyncRunner, Deadline, Evaluator, FindError, Found, FunctionSpec, Outcome, Output, RunFuture,
};
use kiln_server::NoObserver;
use kiln_telemetry::{CallHistory, FailureMessages};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tonic::Status;
use tonic::transport::Endpoint;

use crate::program::{CAT, LIST, RunnerFiles};

const NATIVE: &str = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1";
const NATIVE_TOO: &str = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.2";

/// Returns the name of the image.
struct Echo;

struct EchoRunner(String);

static SHUT_DOWN: AtomicUsize = AtomicUsize::new(0);

impl Evaluator for Echo {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let runner = EchoRunner(function.name().to_owned());
        Ok(Found::Async(Arc::new(runner)))
    }
}

impl AsyncRunner for EchoRunner {
    fn run(&self, _: Bytes, _: Option<Deadline>) -> RunFuture<'_> {
        let outcome = Outcome {
            exit_code: 0,
            signal: None,
            output: Output::Wire(self.0.clone().into()),
            stderr: b"pod".to_vec(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        };
        Box::pin(std::future::ready(Ok(outcome)))
    }
}

/// Maps images to programs and built-in functions.
struct TwoImages;

const PROGRAM: &str = "example.com/lists/program:v1";
const BUILTIN: &str = "example.com/lists/builtin:v1";

impl FunctionConfigs for TwoImages {
    fn program(&self, image: &str) -> Option<PathBuf> {
        (image == PROGRAM || image == NATIVE_TOO).then(|| "/bin/cat".into())
    }

    fn builtin(&self, image: &str) -> Option<String> {
        (image == BUILTIN || image == CAT).then(|| "set-namespace:v0.4.1".to_owned())
    }
}

pub(crate) async fn start() -> anyhow::Result<StartedPods> {
    Ok(StartedPods {
        evaluator: Arc::new(Echo),
        function_configs: Arc::new(TwoImages),
        usable: watch::Sender::new(true).subscribe(),
        shut_down: Box::new(|_| {
            SHUT_DOWN.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(()))
        }),
        status: Arc::new(|| Box::pin(std::future::ready(PodsStatus::NoAnswer { after_ms: 2_000 }))),
    })
}

/// No observer, and no status page.
pub(crate) fn unobserved() -> CallObservers {
    CallObservers {
        observer: Arc::new(NoObserver),
        history: None,
    }
}

pub(crate) fn config(files: &RunnerFiles, flags: &[&str]) -> (RunnerConfig, Environment) {
    let environment = Environment {
        variables: vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("WRAPPER_SERVER_IMAGE".into(), "wrapper:v1".into()),
        ],
        temporary: std::env::temp_dir(),
        directory: files.directory.path().to_owned(),
        program: env!("CARGO_BIN_EXE_function-runner").into(),
    };
    let table = format!("--config={}", files.path("config.yaml").display());
    let own = [
        "--port=0",
        "--listen-address=127.0.0.1",
        "--exec-sandbox=off",
        &table,
    ];
    let flags = own.iter().chain(flags).map(|flag| (*flag).to_owned());
    let config = RunnerFlags::new(Flavour::FunctionRunner).parse(flags, &environment);
    (config.expect("flags"), environment)
}

pub(crate) async fn call(address: &str, image: &str) -> Result<EvaluateFunctionResponse, Status> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let mut client = FunctionEvaluatorClient::new(endpoint.connect_lazy());
    let request = EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: image.to_owned(),
    };
    let answer = client.evaluate_function(request).await;
    answer.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn pods_get_what_no_other_evaluator_has_and_are_released() {
    let files = RunnerFiles::new();
    let (config, environment) = config(&files, &[]);
    let runner = prepare(&config, &environment, unobserved(), start).await;
    let runner = runner.expect("a runner");
    let address = runner.address().to_string();
    let stop = runner.stop();
    let running = tokio::spawn(runner.run());

    let listed = call(&address, CAT).await.expect("a list");
    assert_eq!(listed.resource_list, LIST);
    let native = call(&address, NATIVE).await.expect("a list");
    assert_ne!(native.log, "pod");
    let program = call(&address, PROGRAM).await.expect("a list");
    assert_eq!(program.resource_list, LIST);
    let builtin = call(&address, BUILTIN).await.expect("a list");
    assert_eq!(builtin.resource_list, native.resource_list);
    // Listed programs come before built-in functions, by full and by short name.
    for image in [NATIVE_TOO, "set-namespace:v0.4.2"] {
        let program = call(&address, image).await.expect("a list");
        assert_eq!(program.resource_list, LIST, "{image}");
    }
    for other in ["example.com/other:v1", "set-namespace:v0.0.0-nope"] {
        let answer = call(&address, other).await.expect("an answer");
        assert_eq!(answer.resource_list, other);
        assert_eq!(answer.log, "pod");
    }

    assert_eq!(SHUT_DOWN.load(Ordering::SeqCst), 0);
    stop.drain();
    running.await.expect("an end");
    assert_eq!(SHUT_DOWN.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn pods_can_be_turned_off() {
    let files = RunnerFiles::new();
    let refused = async |flags: &[&str]| {
        let (config, environment) = config(&files, flags);
        let never = async || anyhow::bail!("not asked for");
        let prepared = prepare(&config, &environment, unobserved(), never).await;
        prepared.err().map(|error| format!("{error:#}"))
    };
    assert_eq!(refused(&["--disable-runtimes=pod"]).await, None);
    assert_eq!(refused(&[]).await.as_deref(), Some("not asked for"));
}

#[tokio::test]
async fn pods_that_do_not_answer_do_not_stop_the_status_page() {
    let files = RunnerFiles::new();
    let (config, environment) = config(&files, &["--status-address=127.0.0.1:0"]);
    let observers = CallObservers {
        history: Some(Arc::new(CallHistory::new(FailureMessages::Drop))),
        ..unobserved()
    };
    let start = async || {
        Ok(StartedPods {
            shut_down: Box::new(|_| Box::pin(std::future::ready(()))),
            ..start().await?
        })
    };
    let runner = prepare(&config, &environment, observers, start).await;
    let runner = runner.expect("a runner");
    let address = runner.status_address().expect("a status page");
    let stop = runner.stop();
    let running = tokio::spawn(runner.run());
    let mut stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("a connection");
    let request = b"GET /pods HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).await.expect("a request");
    let mut page = String::new();
    stream.read_to_string(&mut page).await.expect("a page");
    assert!(page.contains("Pods: no answer for 2.0 s."), "{page}");
    stop.drain();
    running.await.expect("an end");
}
