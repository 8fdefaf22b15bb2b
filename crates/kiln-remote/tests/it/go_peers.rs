//! Our client with a runner in Go.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use kiln_remote::{RemoteEvaluator, RemoteOptions};
use kiln_runtime::{
    CancelToken, Deadline, Evaluator as _, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError,
};

use crate::peers::go_peers;

struct GoServer {
    child: Child,
    stdout: BufReader<ChildStdout>,
    options: RemoteOptions,
}

impl GoServer {
    /// `None` if Go is missing.
    fn start(arguments: &[&str]) -> Option<GoServer> {
        let peers = go_peers(env!("CARGO_TARGET_TMPDIR"))?;
        let mut child = Command::new(peers.join("server"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        stdout.read_line(&mut port).unwrap();
        let address = format!("127.0.0.1:{}", port.trim());
        Some(GoServer {
            child,
            stdout,
            options: RemoteOptions::new(address.parse().unwrap()),
        })
    }

    fn call(&self, image: &str, ctx: &RunContext) -> Result<Outcome, RunError> {
        call(self.options.clone(), image, ctx)
    }

    /// Its next line of output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for GoServer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call(options: RemoteOptions, image: &str, ctx: &RunContext) -> Result<Outcome, RunError> {
    let evaluator = RemoteEvaluator::new(options).unwrap();
    let runner = evaluator
        .find(&FunctionSpec::image(image))
        .unwrap()
        .into_runner();
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- replicas: 1\n";
    runner.run(&Input::from_wire(kiln_krm::Dialect::Current, list), ctx)
}

#[test]
fn answers_and_failures_come_from_go() {
    let Some(server) = GoServer::start(&[]) else {
        return;
    };
    let ctx = RunContext::default();
    let outcome = server.call("example.com/three:v1", &ctx).unwrap();
    assert_eq!(outcome.stderr, b"talk");
    assert!(matches!(outcome.output, Output::Wire(bytes) if bytes.ends_with(b"- replicas: 3\n")));

    let error = server.call("example.com/fails:v1", &ctx).unwrap_err();
    assert_eq!(
        error.to_string(),
        "func eval \"example.com/fails:v1\" failed: rpc error: code = Internal desc = Failed to execute function \
         \"example.com/fails:v1\": exit status 1 (boom)"
    );
    let error = server.call("example.com/else:v1", &ctx).unwrap_err();
    assert!(matches!(error, RunError::NotFound(_)), "{error:?}");
}

#[test]
fn deadlines_and_giving_up_reach_go() {
    let Some(mut server) = GoServer::start(&[]) else {
        return;
    };
    let ctx = RunContext {
        deadline: Deadline::after(Duration::from_millis(500)),
        ..RunContext::default()
    };
    let ended = server.call("example.com/waits:v1", &ctx);
    assert!(matches!(ended, Err(RunError::TimedOut { .. })), "{ended:?}");
    assert_eq!(server.line(), "begun\n");
    assert!(server.line().starts_with("context "));

    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..RunContext::default()
    };
    let options = server.options.clone();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| call(options, "example.com/waits:v1", &ctx));
        assert_eq!(server.line(), "begun\n");
        cancel.cancel();
        let ended = waiting.join().unwrap();
        assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
    });
    assert_eq!(server.line(), "context canceled\n");
}

#[test]
fn limits_on_both_ends_are_named() {
    let Some(server) = GoServer::start(&["-max-request-body-size=50"]) else {
        return;
    };
    let ctx = RunContext::default();
    let error = server.call("example.com/three:v1", &ctx).unwrap_err();
    let flags = "raise --function-runner-grpc-max-message-size here and --max-request-body-size of the runner";
    let message = error.to_string();
    assert!(
        message.contains("grpc: received message larger than max ("),
        "{message}"
    );
    assert!(message.contains(&format!(" vs. 50): {flags}")), "{message}");

    let Some(server) = GoServer::start(&[]) else {
        return;
    };
    let mut options = server.options.clone();
    options.max_message_size = 1 << 20;
    let error = call(options, "example.com/large:v1", &ctx).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("ResourceExhausted desc = grpc: received message larger than max ("),
        "{message}"
    );
}
