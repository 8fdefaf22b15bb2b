//! The status page of the program, over HTTP.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::Value;

use crate::program::{CAT, Runner, RunnerFiles};

const NO_PODS: &str = "--disable-runtimes=pod";
const ANY_PORT: &str = "--status-address=127.0.0.1:0";

/// An image whose program fails.
const FAILING: &str = "example.com/failing:v1";

/// The status page of a runner.
struct Page {
    address: String,
}

struct PageResponse {
    code: u16,
    head: String,
    body: String,
}

impl Page {
    fn of(runner: &Runner) -> Page {
        let line = runner.wait_for_log("the status page is at /");
        let address = line.split("page=\"").nth(1);
        let address = address.and_then(|rest| rest.split('"').next());
        Page {
            address: address.expect("an address").to_owned(),
        }
    }

    fn send(&self, request: &str) -> PageResponse {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("a response");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        PageResponse {
            code: code.expect("a status code"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn get(&self, target: &str) -> PageResponse {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    fn data(&self) -> Value {
        serde_json::from_str(&self.get("/status.json").body).expect("JSON")
    }
}

fn with_a_failing_function() -> RunnerFiles {
    let files = RunnerFiles::new();
    files.program("failing", "cat >/dev/null; echo wrong input >&2; exit 3");
    files.config(&format!(
        "functions:\n- function: cat\n  images: ['{CAT}']\n- function: failing\n  images: ['{FAILING}']\n"
    ));
    files
}

/// The targets of links.
fn links(html: &str) -> impl Iterator<Item = &str> {
    let rest = html.split("href=\"").skip(1);
    rest.filter_map(|rest| rest.split('"').next())
}

#[tokio::test]
async fn pages_show_calls_and_no_resources() {
    let files = with_a_failing_function();
    let runner = files.start(&[NO_PODS, ANY_PORT, "--status-show-messages"]);
    let page = Page::of(&runner);
    runner.call(CAT).await.expect("an answer");
    runner.call(CAT).await.expect("an answer");
    let error = runner.call(FAILING).await.expect_err("a failure");
    assert!(error.message().contains("wrong input"), "{error}");

    let data = page.data();
    assert_eq!(data["version"], 1);
    assert_eq!(data["program"], "function-runner");
    assert_eq!(data["health"], "serving");
    assert_eq!(data["pods"]["state"], "disabled");
    assert_eq!(data["windows"][0]["calls"], 3);
    assert_eq!(data["windows"][2]["failures"], 1);
    assert_eq!(data["recent"].as_array().map(Vec::len), Some(3));
    assert_eq!(data["running"].as_array().map(Vec::len), Some(0));
    let functions = data["functions"].as_array().expect("functions");
    let failing = functions.iter().find(|known| known["image"] == FAILING);
    let failure = &failing.expect("the function")["lastFailures"][0];
    assert_eq!(failure["class"], "function");
    assert_eq!(failure["exitCode"], 3);
    let message = failure["message"].as_str().expect("a message");
    assert!(message.contains("wrong input"), "{message}");

    // All pages that links lead to.
    let mut open = vec!["/".to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(target) = open.pop() {
        if target.starts_with(['#', '?']) || !seen.insert(target.clone()) {
            continue;
        }
        let response = page.get(&target);
        assert_eq!(response.code, 200, "{target}");
        assert!(
            response
                .head
                .contains("content-security-policy: default-src 'none'; style-src 'sha256-"),
            "{}",
            response.head
        );
        // A field of the list of every call.
        let body = &response.body;
        assert!(!body.contains("namespace: there"), "{target}: {body}");
        open.extend(links(&response.body).map(str::to_owned));
    }
    for target in ["/calls/3", "/functions/example.com%2Ffailing:v1", "/config"] {
        assert!(seen.contains(target), "{target} in {seen:?}");
    }
    let changed = page.get("/config").body;
    assert!(changed.contains("--status-show-messages"), "{changed}");
}

#[tokio::test]
async fn messages_are_not_kept_by_default() {
    let files = with_a_failing_function();
    let runner = files.start(&[NO_PODS, ANY_PORT]);
    let page = Page::of(&runner);
    runner.call(FAILING).await.expect_err("a failure");
    let text = page.get("/status.json").body;
    assert!(!text.contains("wrong input"), "{text}");
    let page = page.get("/functions/example.com%2Ffailing:v1").body;
    assert!(page.contains("Messages are not kept"), "{page}");
}

#[tokio::test]
async fn a_call_is_listed_while_it_runs() {
    let files = RunnerFiles::empty();
    let gate = files.path("gate");
    let made = Command::new("mkfifo").arg(&gate).status().expect("mkfifo");
    assert!(made.success());
    files.program(
        "waits",
        &format!("read line < {}; exec cat", gate.display()),
    );
    files.config(&format!(
        "functions:\n- function: waits\n  images: ['{CAT}']\n"
    ));
    let runner = files.start(&[NO_PODS, ANY_PORT, "--exec-sandbox=off"]);
    let page = Page::of(&runner);
    let address = runner.address.clone();
    let running = tokio::spawn(crate::program::call(address, CAT));
    // Blocks until the function reads.
    let opened = tokio::task::spawn_blocking(move || OpenOptions::new().write(true).open(gate));
    let mut gate = opened.await.expect("a thread").expect("the gate");
    let data = page.data();
    let call = &data["running"][0];
    assert_eq!(call["image"], CAT);
    assert_eq!(
        (&call["evaluator"], &call["lane"]),
        (&"exec".into(), &"processes".into())
    );
    assert_eq!(call["isRunning"], true);
    let lanes = data["lanes"].as_array().expect("lanes");
    let lane = lanes.iter().find(|lane| lane["name"] == "processes");
    assert_eq!(lane.expect("the lane")["running"], 1);
    let id = call["id"].as_u64().expect("a number");
    assert!(
        page.get(&format!("/calls/{id}"))
            .body
            .contains("runs in processes")
    );
    gate.write_all(b"go\n").expect("a line");
    running.await.expect("a task").expect("an answer");
    assert_eq!(page.data()["recent"][0]["id"], id);
}

#[test]
fn requests_that_get_no_page() {
    let files = RunnerFiles::new();
    let runner = files.start(&[NO_PODS, ANY_PORT]);
    let page = Page::of(&runner);
    let post = page.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(
        (post.code, post.body.as_str()),
        (405, "the status page is read-only\n")
    );
    assert!(post.head.contains("allow: GET, HEAD"), "{}", post.head);
    let other = page.send("GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n");
    assert_eq!(other.code, 421, "{}", other.body);
    assert_eq!(page.get("/nothing").code, 404);
    assert_eq!(page.get("/calls/77").code, 404);
    let head = page.send("HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_eq!((head.code, head.body.as_str()), (200, ""));
}

#[test]
fn the_token_of_calls_protects_the_page() {
    let files = RunnerFiles::new();
    let token = files.path("token");
    std::fs::write(&token, "secret\n").expect("a file");
    let flag = format!("--auth-token-file={}", token.display());
    let runner = files.start(&[NO_PODS, ANY_PORT, &flag]);
    let page = Page::of(&runner);
    for target in ["/", "/?token=secret", "/status.json"] {
        let response = page.get(target);
        assert_eq!(response.code, 401, "{target}");
        assert!(
            response.head.contains("www-authenticate: Bearer"),
            "{}",
            response.head
        );
        assert_eq!(response.body, "missing or invalid bearer token\n");
    }
    let with = |token: &str| {
        page.send(&format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
    };
    assert_eq!(with("secret").code, 200);
    assert_eq!(with("wrong").code, 401);
}

#[test]
fn a_port_in_use_ends_the_start_if_it_was_chosen() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let files = RunnerFiles::new();
    let output = files.output(&[NO_PODS, &format!("--status-address={address}")]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let message = format!("listen on {address} for the status page (--status-address): ");
    assert!(text.contains(&message), "{text}");
    let output = files.output(&[NO_PODS, "--status-address=localhost:x"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.starts_with("--status-address \"localhost:x\" is not an IP address and a port"),
        "{text}"
    );
}

#[test]
fn there_is_no_page_in_a_cluster_by_default() {
    let files = RunnerFiles::new();
    let runner = files.start(&[NO_PODS]);
    let seen: Vec<String> = runner.lines.try_iter().collect();
    assert!(
        !seen.iter().any(|line| line.contains("status page")),
        "{seen:#?}"
    );
}
