//! A runner in its own process, and a client.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};

pub(crate) const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    namespace: there
";

pub(crate) const CAT: &str = "example.com/cat:v1";

/// A directory with a table and programs.
pub(crate) struct RunnerFiles {
    pub(crate) directory: TempDir,
}

/// A runner that listens.
pub(crate) struct Runner {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) lines: Receiver<String>,
}

impl RunnerFiles {
    /// A table with one image, which is `cat`.
    pub(crate) fn new() -> RunnerFiles {
        let files = RunnerFiles::empty();
        files.program("cat", "exec cat");
        files.config(&format!(
            "functions:\n- function: cat\n  images: ['{CAT}']\n"
        ));
        files
    }

    pub(crate) fn empty() -> RunnerFiles {
        let directory = tempfile::tempdir().expect("a directory");
        // Programs in the sandbox may have another user.
        open(directory.path());
        std::fs::create_dir(directory.path().join("functions")).expect("a directory");
        open(&directory.path().join("functions"));
        RunnerFiles { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn config(&self, text: &str) {
        std::fs::write(self.path("config.yaml"), text).expect("a file");
    }

    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.path("functions").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        open(&path);
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_function-runner"));
        command
            .args(["--port=0", "--listen-address=127.0.0.1"])
            .args(arguments)
            .current_dir(self.directory.path())
            .env_remove("WRAPPER_SERVER_IMAGE")
            // Without a place for a store, images that are not built in are not pulled.
            .env_remove("HOME")
            .env_remove("KILN_STORE")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null());
        command
    }

    /// Runs to its end.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("a program")
    }

    /// Starts and waits until it listens.
    pub(crate) fn start(&self, arguments: &[&str]) -> Runner {
        Runner::start(self.command(arguments))
    }
}

fn open(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).expect("permissions");
}

impl Runner {
    pub(crate) fn start(mut command: Command) -> Runner {
        let child = command.stderr(Stdio::piped()).spawn().expect("a program");
        let (_, lines) = channel();
        let mut runner = Runner {
            child,
            address: String::new(),
            lines,
        };
        let stderr = runner.child.stderr.take().expect("standard error");
        let lines = follow(stderr);
        let mut seen = Vec::new();
        runner.address = loop {
            let Ok(line) = lines.recv() else {
                panic!("ended early: {seen:#?}");
            };
            let listens = line.contains("function runner is listening");
            let address = line.split("address=").nth(1);
            let address = address.and_then(|rest| rest.split_whitespace().next());
            let address = address.map(|quoted| quoted.trim_matches('"').to_owned());
            seen.push(line);
            if listens {
                break address.expect("an address");
            }
        };
        // Earlier lines can be searched too.
        let (sender, all) = channel();
        thread::spawn(move || {
            for line in seen.into_iter().chain(lines) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        runner.lines = all;
        runner
    }

    /// Waits for a line of the log.
    pub(crate) fn wait_for_log(&self, part: &str) -> String {
        let line = self.lines.iter().find(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("never logged: {part}"))
    }

    pub(crate) async fn channel(&self) -> Channel {
        connect(&self.address).await
    }

    pub(crate) async fn call(&self, image: &str) -> Result<EvaluateFunctionResponse, Status> {
        call(self.address.clone(), image).await
    }

    pub(crate) async fn call_with(
        &self,
        image: &str,
        list: &str,
    ) -> Result<EvaluateFunctionResponse, Status> {
        call_with(self.address.clone(), image, list).await
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("an end")
    }
}

async fn connect(address: &str) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    let endpoint = endpoint.expect("an address");
    endpoint.connect().await.expect("a connection")
}

/// Calls the runner at an address.
pub(crate) async fn call(address: String, image: &str) -> Result<EvaluateFunctionResponse, Status> {
    call_with(address, image, LIST).await
}

async fn call_with(
    address: String,
    image: &str,
    list: &str,
) -> Result<EvaluateFunctionResponse, Status> {
    let mut client = FunctionEvaluatorClient::new(connect(&address).await);
    let request = EvaluateFunctionRequest {
        resource_list: list.to_owned().into(),
        image: image.to_owned(),
    };
    let answer = client.evaluate_function(request).await;
    answer.map(Response::into_inner)
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(stderr: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(stderr);
        let mut line = String::new();
        while let Ok(1..) = reader.read_line(&mut line) {
            // The test may be over, but the runner must not block.
            let _ = sender.send(std::mem::take(&mut line));
        }
        let _ = reader.read_to_string(&mut line);
    });
    receiver
}
