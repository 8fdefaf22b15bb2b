//! A wrapper that runs, and calls to it.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use rustix::process::{Pid, Signal, kill_process};
use tonic::transport::Channel;
use tonic::{Request, Status};

pub(crate) const WRAPPER: &str = env!("CARGO_BIN_EXE_wrapper-server");

pub(crate) const LIST: &str =
    "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

pub(crate) const IMAGE: &str = "example.com/fn:v1";

/// A wrapper that is killed when dropped.
pub(crate) struct Wrapper {
    child: Child,
    pub(crate) port: u16,
    log: mpsc::Receiver<String>,
}

impl Wrapper {
    /// Starts a wrapper with an entrypoint on a free port.
    pub(crate) fn start(flags: &[&str], entrypoint: &[&str]) -> Wrapper {
        let mut command = Command::new(WRAPPER);
        command
            .args(["--port=0"])
            .args(flags)
            .arg("--")
            .args(entrypoint);
        Wrapper::spawn(&mut command)
    }

    /// The same with any command, which must make it log its port.
    pub(crate) fn spawn(command: &mut Command) -> Wrapper {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = follow(child.stderr.take().unwrap());
        let mut earlier = String::new();
        let port = loop {
            let Ok(line) = log.recv() else {
                let status = child.wait().unwrap();
                panic!("ended before it listened ({status}): {earlier}");
            };
            if let Some((_, rest)) = line.split_once("Listening on :") {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                break digits.parse().unwrap();
            }
            earlier.push_str(&line);
        };
        Wrapper { child, port, log }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Waits for a line of the log.
    pub(crate) fn wait_for_line(&self, part: &str) -> String {
        let mut earlier = String::new();
        while let Ok(line) = self.log.recv() {
            if line.contains(part) {
                return line;
            }
            earlier.push_str(&line);
        }
        panic!("{part:?} was never logged: {earlier}");
    }

    /// A connection to it.
    pub(crate) async fn client(&self) -> FunctionEvaluatorClient<Channel> {
        let address = format!("http://{}", self.address());
        let endpoint = Channel::from_shared(address).unwrap();
        let endpoint = endpoint.http2_max_header_list_size(1 << 24);
        FunctionEvaluatorClient::new(endpoint.connect().await.unwrap())
    }

    /// One call.
    pub(crate) fn call(&self, list: &str) -> Result<EvaluateFunctionResponse, Status> {
        block_on(async { call(&mut self.client().await, list).await })
    }
}

impl Drop for Wrapper {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The log, line by line.
fn follow(stderr: ChildStderr) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stderr);
        loop {
            let mut line = Vec::new();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&line).into_owned();
            if sender.send(line).is_err() {
                // The test may be over, but the wrapper must not block.
                let _ = reader.read_to_end(&mut Vec::new());
                return;
            }
        }
    });
    receiver
}

pub(crate) fn request(list: &str) -> Request<EvaluateFunctionRequest> {
    Request::new(EvaluateFunctionRequest {
        resource_list: list.to_owned().into(),
        image: IMAGE.to_owned(),
    })
}

pub(crate) async fn call(
    client: &mut FunctionEvaluatorClient<Channel>,
    list: &str,
) -> Result<EvaluateFunctionResponse, Status> {
    let answer = client.evaluate_function(request(list)).await;
    answer.map(tonic::Response::into_inner)
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// Runs the binary as the probe.
pub(crate) fn probe(arguments: &[&str]) -> Output {
    probe_as("grpc-health-probe", arguments)
}

pub(crate) fn probe_as(name: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(WRAPPER);
    // Slow machines are fine; the test checks what comes later.
    command.args(["-connect-timeout=60s", "-rpc-timeout=60s"]);
    command.arg0(name).args(arguments).output().unwrap()
}

/// A shell script as entrypoint.
pub(crate) fn script(text: &str) -> [&str; 3] {
    ["/bin/sh", "-c", text]
}

/// A file with some content.
pub(crate) fn file(directory: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = directory.join(OsStr::new(name));
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}
