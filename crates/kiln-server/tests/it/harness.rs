//! A server with functions made for tests, and a client.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::Bytes;
use kiln_exec::ExecEvaluator;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_runtime::{
    Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError, Runner,
};
use kiln_server::{Options, Server, StopHandle, Words};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

pub(crate) const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
";

/// A server that is running, and the directory of its functions.
pub(crate) struct TestServer {
    pub(crate) directory: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) stop: StopHandle,
    pub(crate) server: JoinHandle<()>,
}

/// Functions that are shell scripts: `name` runs `directory/name.sh`.
pub(crate) struct Scripts {
    directory: PathBuf,
    exec: ExecEvaluator,
}

impl Evaluator for Scripts {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let path = self.directory.join(format!("{}.sh", function.name()));
        if !path.exists() {
            return Err(FindError::not_found(function));
        }
        let command_line = format!("sh {}", path.display());
        self.exec.find(&FunctionSpec::exec(command_line))
    }
}

/// Functions in this process.
pub(crate) struct Natives;

struct Native(String);

impl Evaluator for Natives {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match function.name() {
            name @ ("tree" | "fails" | "panics" | "broken" | "obeys") => {
                Ok(Found::blocking(Native(name.to_owned())))
            }
            _ => Err(FindError::not_found(function)),
        }
    }
}

impl Runner for Native {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let mut exit_code = 0;
        let output = match self.0.as_str() {
            "panics" => panic!("on purpose"),
            "broken" => {
                return Err(RunError::Unavailable("the machine is on fire".into()));
            }
            "fails" => {
                exit_code = 1;
                let results = "results:\n- message: no\n  severity: error\n";
                Output::Wire(format!("{}{results}", input.wire()).into())
            }
            "obeys" => {
                let (sender, receiver) = mpsc::channel();
                let _guard = ctx.cancel.on_cancel(move || {
                    let _ = sender.send(());
                });
                let _ = receiver.recv();
                return Err(RunError::Cancelled);
            }
            _ => Output::List(kiln_krm::ResourceList {
                items: input.items().to_vec(),
                ..kiln_krm::ResourceList::default()
            }),
        };
        Ok(Outcome {
            exit_code,
            signal: None,
            output,
            stderr: b"said".to_vec(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        true
    }
}

/// Evaluators by name.
pub(crate) type Entries = Vec<(&'static str, Arc<dyn Evaluator>)>;

fn evaluators(directory: &Path) -> Entries {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let scripts = Scripts {
        directory: directory.to_owned(),
        exec: ExecEvaluator::new(path),
    };
    vec![("native", Arc::new(Natives)), ("exec", Arc::new(scripts))]
}

impl TestServer {
    pub(crate) async fn new() -> TestServer {
        TestServer::with(Options::default(), Words::Runner).await
    }

    pub(crate) async fn with(options: Options, words: Words) -> TestServer {
        TestServer::with_more(options, words, Vec::new()).await
    }

    /// A server with these functions, and with more evaluators after them.
    pub(crate) async fn with_more(options: Options, words: Words, more: Entries) -> TestServer {
        let directory = tempfile::tempdir().expect("a directory");
        let mut evaluators = evaluators(directory.path());
        evaluators.extend(more);
        let evaluators = EvaluatorChain::new(evaluators);
        let options = Options { words, ..options };
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(address, evaluators, options).await;
        let server = server.expect("a port");
        TestServer {
            directory,
            address: server.address(),
            stop: server.stop(),
            server: tokio::spawn(server.run()),
        }
    }

    /// Makes a function from a shell script.
    pub(crate) fn script(&self, name: &str, script: &str) {
        let path = self.directory.path().join(format!("{name}.sh"));
        fs::write(path, script).expect("a script");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address));
        let endpoint = endpoint.expect("an address");
        let endpoint = endpoint.http2_max_header_list_size(16 * 1024 * 1024);
        endpoint.connect().await.expect("a connection")
    }

    pub(crate) async fn client(&self) -> FunctionEvaluatorClient<Channel> {
        let client = FunctionEvaluatorClient::new(self.channel().await);
        client.max_decoding_message_size(usize::MAX)
    }

    pub(crate) async fn call(
        &self,
        image: &str,
        list: impl Into<Bytes>,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let mut client = self.client().await;
        let answer = client.evaluate_function(request(image, list)).await;
        answer.map(Response::into_inner)
    }

    /// Waits for a file that a function makes.
    pub(crate) async fn appears(&self, name: &str) {
        let path = self.path(name);
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the process whose ID is in a file is gone.
    pub(crate) async fn is_gone(&self, name: &str) {
        let path = self.path(name);
        let pid = loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                break pid.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let process = PathBuf::from("/proc").join(pid);
        let is_alive = || {
            let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
            let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
            !state.is_empty() && !state.starts_with(['Z', 'X'])
        };
        while is_alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) fn request(image: &str, list: impl Into<Bytes>) -> Request<EvaluateFunctionRequest> {
    Request::new(EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.to_owned(),
    })
}
