//! The runner in its own process on this machine, and its callers.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use rustix::process::{Pid, Signal, kill_process};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

use super::images;
use super::space::{LONG, Space};

/// A runner that listens.
pub(crate) struct Runner {
    child: Child,
    log: Arc<Mutex<String>>,
    pub(crate) caller: Caller,
}

/// A client of a runner. Clones share a connection.
#[derive(Clone)]
pub(crate) struct Caller {
    client: FunctionEvaluatorClient<Channel>,
}

impl Space {
    /// The command line of a runner of this space.
    pub(crate) fn runner_command(&self, arguments: &[&str]) -> Command {
        let server = self.machine.api_server();
        self.runner_command_at(&server, arguments)
    }

    /// The same with another address of the API server.
    pub(crate) fn runner_command_at(&self, server: &str, arguments: &[&str]) -> Command {
        let config = self.file("config.yaml", "functions: []\n");
        let mut command = Command::new(env!("CARGO_BIN_EXE_function-runner"));
        command
            .args(["--port=0", "--listen-address=127.0.0.1", "--log-level=3"])
            .arg("--pod-lease-period=6s")
            .arg(format!("--config={}", config.display()))
            .arg(format!("--pod-namespace={}", self.pods))
            .arg("--pod-address-mode=clusterip")
            .args(arguments)
            .current_dir(self.directory.path())
            .env("KUBECONFIG", self.kubeconfig(server))
            .env("HOME", self.directory.path())
            // No store: every image runs in a pod.
            .env("KILN_STORE", "/dev/null/store")
            .env("WRAPPER_SERVER_IMAGE", images::wrapper(&self.machine))
            .stdin(Stdio::null());
        command
    }

    /// Starts a runner and waits until it listens.
    pub(crate) async fn start(&self, arguments: &[&str]) -> Runner {
        Runner::start(self.runner_command(arguments)).await
    }
}

impl Runner {
    pub(crate) async fn start(mut command: Command) -> Runner {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a program");
        let stderr = child.stderr.take().expect("standard error");
        let log = Arc::new(Mutex::new(String::new()));
        let (sender, listens) = channel();
        let writer = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line.contains("function runner is listening") {
                    let address = line.split("address=\"").nth(1);
                    let address = address.and_then(|rest| rest.split('"').next());
                    let _ = sender.send(address.expect("an address").to_owned());
                }
                let mut log = writer.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = writeln!(log, "{line}");
            }
        });
        let Ok(address) = listens.recv_timeout(LONG) else {
            let _ = child.kill();
            panic!("does not listen: {}", log.lock().expect("a log"));
        };
        let caller = Caller::connect(&address).await;
        Runner { child, log, caller }
    }

    pub(crate) fn log(&self) -> String {
        let log = self.log.lock();
        log.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Terminates it like Kubernetes, and waits for its exit.
    pub(crate) fn terminate(mut self) {
        self.signal(Signal::TERM);
        assert!(
            self.child.wait().expect("an end").success(),
            "{}",
            self.log()
        );
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("an end");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a process");
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the log of a runner explains a failure"
)]
impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

impl Caller {
    pub(crate) async fn connect(address: &str) -> Caller {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
        let channel = endpoint.connect().await.expect("a connection");
        Caller {
            client: FunctionEvaluatorClient::new(channel).max_decoding_message_size(64 << 20),
        }
    }

    /// Calls a function with `data`, and checks that the answer belongs to the call.
    pub(crate) async fn call(&self, image: &str, data: &[(&str, &str)]) -> Result<(), Status> {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("item-{number}");
        let response = self.evaluate(image, &list(&name, data)).await?;
        let answer = String::from_utf8_lossy(&response.resource_list).into_owned();
        assert!(
            answer.contains(&format!("name: {name}\n")),
            "not the answer to {name}: {answer}"
        );
        Ok(())
    }

    pub(crate) async fn evaluate(
        &self,
        image: &str,
        list: &str,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let mut request = Request::new(EvaluateFunctionRequest {
            resource_list: list.to_owned().into(),
            image: image.to_owned(),
        });
        request.set_timeout(LONG);
        let answer = self.client.clone().evaluate_function(request).await;
        answer.map(Response::into_inner)
    }
}

/// A list with one item and a function's configuration.
pub(crate) fn list(name: &str, data: &[(&str, &str)]) -> String {
    let mut list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  \
         metadata:\n    name: {name}\nfunctionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: config\n  \
         data:\n    nothing: \"\"\n"
    );
    for (key, value) in data {
        let _ = writeln!(list, "    {key}: \"{value}\"");
    }
    list
}
