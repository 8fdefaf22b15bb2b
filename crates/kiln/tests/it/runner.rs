//! Functions that a runner elsewhere runs.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use kiln_proto::evaluator::function_evaluator_server::{
    FunctionEvaluator, FunctionEvaluatorServer,
};
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::failure::to_status;
use kiln_proto::{FunctionFailure, IDENTITY_METADATA};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Response, Status};

use crate::test_environment::TestEnvironment;

/// A runner that knows a few functions.
struct Runner {
    name: String,
    asked: Arc<Mutex<Vec<String>>>,
}

#[tonic::async_trait]
impl FunctionEvaluator for Runner {
    async fn evaluate_function(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let trace = request.metadata().get("traceparent").cloned();
        let request = request.into_inner();
        let list = String::from_utf8_lossy(&request.resource_list);
        let asked = self
            .asked
            .lock()
            .map(|mut asked| asked.push(request.image.clone()));
        asked.map_err(|_| Status::internal("poisoned"))?;
        match request.image.as_str() {
            "example.com/three:v1" => {
                let mut response = Response::new(EvaluateFunctionResponse {
                    resource_list: list.replace("replicas: 1", "replicas: 3").into(),
                    log: "talk".into(),
                });
                let identity = MetadataValue::from_static("image:example.com/three@sha256:3");
                response.metadata_mut().insert(IDENTITY_METADATA, identity);
                Ok(response)
            }
            "example.com/who:v1" => Ok(Response::new(EvaluateFunctionResponse {
                resource_list: list
                    .replace("runner: none", &format!("runner: {}", self.name))
                    .into(),
                log: Vec::new().into(),
            })),
            "example.com/never:v1" => std::future::pending().await,
            "example.com/trace:v1" => Ok(Response::new(EvaluateFunctionResponse {
                resource_list: list.into_owned().into(),
                log: trace
                    .map_or_else(Vec::new, |trace| trace.as_bytes().to_vec())
                    .into(),
            })),
            "example.com/fails:v1" => {
                let results = "- message: too few replicas\n  severity: error\n";
                let failure = FunctionFailure {
                    image: request.image.clone(),
                    exit_code: 7,
                    stderr: "printed\n".into(),
                    output: format!("{list}results:\n{results}").into(),
                    results: results.into(),
                    ..FunctionFailure::default()
                };
                let text = "what others see".to_owned();
                Err(to_status(Code::Internal, text, failure, 8192))
            }
            "example.com/go-fails:v1" => Err(Status::internal(
                r#"Failed to execute function "example.com/go-fails:v1": exit status 1 (boom)"#,
            )),
            other => Err(Status::not_found(format!("function {other:?} not found"))),
        }
    }
}

/// The runner, for as long as this is kept.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Running {
    fn start() -> Running {
        Running::named("runner")
    }

    /// What it was asked for since it was last asked this.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("not poisoned"))
    }

    pub(crate) fn named(name: &str) -> Running {
        let asked = Arc::default();
        let runner = Runner {
            name: name.to_owned(),
            asked: Arc::clone(&asked),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0");
        let listener = runtime.block_on(listener).expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tonic::transport::Server::builder()
            .add_service(FunctionEvaluatorServer::new(runner))
            .serve_with_incoming(TcpListenerStream::new(listener));
        runtime.spawn(server);
        Running {
            address,
            asked,
            _runtime: runtime,
        }
    }
}

/// A package whose pipeline is one image.
fn package(test_env: &TestEnvironment, image: &str) {
    test_env.write(
        "pkg/Kptfile",
        &format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - image: {image}\n"
        ),
    );
    test_env.write(
        "pkg/app.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  replicas: 1 # few\n",
    );
}

fn render(test_env: &TestEnvironment, more: &[&str]) -> crate::test_environment::Outcome {
    let args = [&["fn", "render", "pkg"], more].concat();
    test_env.kiln(&args, "")
}

fn file(test_env: &TestEnvironment, name: &str) -> String {
    std::fs::read_to_string(test_env.work().join(name)).expect("a file")
}

#[test]
fn a_runner_runs_what_is_not_built_in() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/three:v1");
    let done = render(&test_env, &["--runner", &runner.address.to_string()]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.stderr.contains("[PASS] \"example.com/three:v1\""),
        "{done:?}"
    );
    assert!(file(&test_env, "pkg/app.yaml").contains("replicas: 3 # few\n"));
}

#[test]
fn what_is_built_in_stays_here() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(
        &test_env,
        "set-namespace:v0.4.1\n    configMap:\n      namespace: prod",
    );
    let address = format!("--function-runner-address={}", runner.address);
    let done = render(&test_env, &[&address]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(file(&test_env, "pkg/app.yaml").contains("namespace: prod"));
}

#[test]
fn a_failed_function_comes_with_its_results() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/fails:v1");
    let address = runner.address.to_string();
    let done = render(
        &test_env,
        &["--runner", &address, "--results-dir", "results"],
    );
    assert_eq!(done.code, Some(1), "{done:?}");
    for message in ["[error]: too few replicas", "printed", "Exit code: 7"] {
        assert!(
            done.stderr.contains(message),
            "{message} is not in {}",
            done.stderr
        );
    }
    assert!(!done.stderr.contains("what others see"), "{done:?}");
    let results = file(&test_env, "results/results.yaml");
    for message in [
        "exitCode: 7",
        "message: too few replicas",
        "severity: error",
    ] {
        assert!(results.contains(message), "{message} is not in {results}");
    }
    assert!(file(&test_env, "pkg/app.yaml").contains("replicas: 1 # few\n"));
}

#[test]
fn an_error_text_of_a_runner_is_quoted() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/go-fails:v1");
    let done = render(&test_env, &["--runner", &runner.address.to_string()]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let text = "func eval \"example.com/go-fails:v1\" failed: rpc error: code = Internal desc = Failed to execute \
                function \"example.com/go-fails:v1\": exit status 1 (boom)";
    assert!(done.stderr.contains(text), "{done:?}");
    assert!(!done.stderr.contains("container engine"), "{done:?}");
}

#[test]
fn a_call_is_part_of_the_trace_that_the_command_is_part_of() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/trace:v1");
    let script = format!("kiln fn render pkg --runner {}", runner.address);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let path = format!("{}:/usr/bin:/bin", test_env.bin().display());
    let variables = [("PATH", path.as_str()), ("TRACEPARENT", parent)];
    let done = test_env.shell(&test_env.work(), &script, &variables);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains(parent), "{done:?}");
}

#[test]
fn what_the_runner_does_not_know_is_left_to_the_engine() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/unknown:v1");
    // An engine that fails.
    test_env.write_program("docker", "#!/bin/sh\nexit 1\n");
    let path = format!("{}:/usr/bin:/bin", test_env.work().display());
    let script = format!("kiln fn render pkg --runner {}", runner.address);
    let path = format!("{}:{path}", test_env.bin().display());
    let done = test_env.shell(&test_env.work(), &script, &[("PATH", &path)]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let text = "code = NotFound desc = function \"example.com/unknown:v1\" not found; ";
    assert!(done.stderr.contains(text), "{done:?}");
    assert!(done.stderr.contains("docker"), "{done:?}");
}

#[test]
fn eval_asks_the_runner_too() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/three:v1");
    let address = runner.address.to_string();
    let eval = [
        "fn",
        "eval",
        "pkg",
        "-i",
        "example.com/three:v1",
        "--runner",
        &address,
    ];
    let done = test_env.kiln(&eval, "");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(file(&test_env, "pkg/app.yaml").contains("replicas: 3 # few\n"));
    let done = test_env.kiln(&[&eval[..], &["--env", "A=b"]].concat(), "");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(
        done.stderr.contains("cannot be used with --runner"),
        "{done:?}"
    );
}

#[test]
fn limits_and_mistakes_are_named() {
    let (test_env, runner) = (TestEnvironment::new(), Running::start());
    package(&test_env, "example.com/three:v1");
    let address = runner.address.to_string();
    let limit = "--function-runner-grpc-max-message-size=100";
    let done = render(&test_env, &["--runner", &address, limit]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.stderr
            .contains("trying to send message larger than max"),
        "{done:?}"
    );

    let done = render(&test_env, &["--runner-token-file", "token"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.stderr
            .contains("--runner-token-file requires --runner")
    );

    let done = render(&test_env, &["--runner", "nowhere"]);
    assert_ne!(done.code, Some(0), "{done:?}");
    assert!(
        done.stderr.contains("is not the address of a runner"),
        "{done:?}"
    );
}

/// `kiln serve`, for as long as this is kept.
struct Serving {
    child: std::process::Child,
    address: String,
}

impl Serving {
    fn start(test_env: &TestEnvironment) -> Serving {
        let program = test_env.bin().join("kiln");
        let mut child = test_env
            .command(&program.display().to_string(), &test_env.work())
            .args([
                "serve",
                "--port=0",
                "--status-address=",
                "--exec-sandbox=off",
            ])
            .args(["--functions=functions", "--config=config.yaml"])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut message = lines.by_ref().map_while(Result::ok);
        let line = message.find(|line| line.contains("is listening"));
        let line = line.expect("it listens");
        let address = line.split("address=\"").nth(1).expect("an address");
        let address = address.split('"').next().expect("an address");
        let address = address.to_owned();
        // It must not wait for us.
        std::thread::spawn(move || lines.for_each(drop));
        Serving { child, address }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn results_survive_the_way_through_our_own_runner() {
    let test_env = TestEnvironment::new();
    package(&test_env, "example.com/checks:v1");
    test_env.write_program(
        "functions/checks",
        "#!/bin/sh\ncat\nprintf 'results:\\n- message: too few replicas\\n  severity: error\\n'\necho printed >&2\nexit 7\n",
    );
    let config = "functions:\n- function: checks\n  images: [example.com/checks:v1]\n";
    test_env.write("config.yaml", config);
    let runner = Serving::start(&test_env);
    let to_runner = ["--runner", &runner.address, "--results-dir", "results"];
    let done = render(&test_env, &to_runner);
    assert_eq!(done.code, Some(1), "{done:?}");
    for message in ["[error]: too few replicas", "printed", "Exit code: 7"] {
        assert!(
            done.stderr.contains(message),
            "{message} is not in {}",
            done.stderr
        );
    }
    let results = file(&test_env, "results/results.yaml");
    for message in ["exitCode: 7", "message: too few replicas"] {
        assert!(results.contains(message), "{message} is not in {results}");
    }
}

#[test]
fn the_manifest_of_a_runner_is_valid() {
    let test_env = TestEnvironment::new();
    let manifest = include_str!("../../../../deploy/function-runner.yaml");
    test_env.write("deploy/function-runner.yaml", manifest);
    let args = [
        "fn",
        "eval",
        "deploy",
        "-i",
        "kubeconform:v0.1.1",
        "-o",
        "unwrap",
    ];
    let strict = ["--", "strict=true"];
    let done = test_env.kiln(&[&args[..], &strict].concat(), "");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("[PASS]"), "{done:?}");
}
