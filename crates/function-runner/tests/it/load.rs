//! Many concurrent callers: each gets the right answer, and afterwards nothing is left.

use std::fs;
use std::time::Duration;

use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use tokio::task::JoinSet;
use tonic::Code;

use crate::program::{CAT, LIST, Runner, RunnerFiles};
use crate::workers::is_worker;

const CLIENTS: usize = 200;
const CALLS: usize = 50;
const NATIVE: &str = "set-namespace:v0.4.1";

/// Each client has its own connection and makes one call after the other, native functions and programs in turn.
async fn round(runner: &Runner) {
    let expected = runner.call(NATIVE).await.expect("an answer").resource_list;
    let text = String::from_utf8_lossy(&expected);
    assert!(text.contains("namespace: there"), "{text}");
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let channel = runner.channel().await;
        let expected = expected.clone();
        clients.spawn(async move {
            let mut client = FunctionEvaluatorClient::new(channel);
            for call in 0..CALLS {
                let (image, expected) = match (number + call) % 2 {
                    0 => (NATIVE, expected.as_ref()),
                    _ => (CAT, LIST.as_bytes()),
                };
                let request = EvaluateFunctionRequest {
                    resource_list: LIST.into(),
                    image: image.to_owned(),
                };
                let answer = client.evaluate_function(request).await;
                let answer = answer.expect("an answer").into_inner();
                assert_eq!(answer.resource_list, expected, "{image}");
            }
        });
    }
    clients.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_clients_leave_nothing_behind() {
    let files = RunnerFiles::new();
    let runner = files.start(&["--disable-runtimes=pod", "--log-level=1"]);
    let id = runner.child.id();
    let files = open_files(id);
    round(&runner).await;
    settle(id, files).await;
    let memory = resident(id);
    round(&runner).await;
    settle(id, files).await;
    let now = resident(id);
    assert!(now * 5 <= memory * 6, "{memory} bytes, then {now}");
}

#[tokio::test]
async fn a_program_that_takes_too_much_memory_is_refused_it() {
    let files = RunnerFiles::empty();
    files.program("eats", "exec tail -c 1G /dev/zero");
    files.config("functions:\n- function: eats\n  images: [example.com/eats]\n");
    let limit = "--exec-memory-limit=67108864";
    let runner = files.start(&["--disable-runtimes=pod", "--exec-sandbox=strict", limit]);
    let (id, files) = (runner.child.id(), open_files(runner.child.id()));
    let status = runner.call("example.com/eats").await.expect_err("a limit");
    // The system decides whether it is killed or refused more memory.
    let codes = [Code::ResourceExhausted, Code::Internal];
    assert!(codes.contains(&status.code()), "{status:?}");
    // Other calls are not affected.
    runner.call(NATIVE).await.expect("an answer");
    settle(id, files).await;
}

/// Waits until the runner has no children but those it keeps, and no more open files than when it was idle, except for
/// the few that it keeps for the next programs. There is no event for that, so this polls.
async fn settle(id: u32, quiet: usize) {
    let is_quiet = async {
        while has_children(id) || open_files(id) > quiet + KEPT {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, is_quiet).await;
    waited.unwrap_or_else(|_| panic!("{quiet} open files, then {}", open_files(id)));
}

/// Much longer than the slowest machine takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// Far below the number of calls and of clients.
const KEPT: usize = 50;

fn has_children(id: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{id}/task")).expect("a process");
    let children = threads.flatten().map(|thread| {
        // A thread may end at any time.
        fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    });
    let children: Vec<String> = children.collect();
    let mut ids = children.iter().flat_map(|ids| ids.split_whitespace());
    ids.any(|id| !id.parse().is_ok_and(is_worker) && !is_watcher(id))
}

/// The process that kills functions if the runner is killed; it stays.
fn is_watcher(id: &str) -> bool {
    let name = fs::read_to_string(format!("/proc/{id}/comm"));
    name.is_ok_and(|name| name == "kiln-watch\n")
}

fn open_files(id: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{id}/fd")).expect("a process");
    files.count()
}

pub(crate) fn resident(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.expect("a size").parse().expect("a number")
}
