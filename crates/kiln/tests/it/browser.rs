//! The report and the status page in a real browser (`tests/browser/up`).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::faults::skip;
use crate::test_environment::{TestEnvironment, copy};

/// A server that is killed at the end of the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first of these programs that can be started.
fn program(names: &[&'static str]) -> Option<&'static str> {
    let starts = |name: &&&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success())
    };
    names.iter().find(starts).copied()
}

/// The value of a field in a line of the log.
fn field(line: &str, name: &str) -> String {
    let value = line.split(&format!("{name}=\"")).nth(1);
    let value = value.and_then(|rest| rest.split('"').next());
    value.expect("a field").to_owned()
}

/// Starts `kiln serve` and returns the addresses of calls and of the status page.
fn serve(test_env: &TestEnvironment) -> (Server, String, String) {
    let mut command = test_env.command(env!("CARGO_BIN_EXE_kiln"), &test_env.work());
    command
        .args(["serve", "--port=0", "--status-address=127.0.0.1:0"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut server = Server(command.spawn().expect("a program"));
    let stderr = server.0.stderr.take().expect("standard error");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let mut wait = |text: &str, name: &str| {
        let line = lines.find(|line| line.contains(text));
        field(&line.unwrap_or_else(|| panic!("no {text}")), name)
    };
    let page = wait("the status page is at /", "page");
    let calls = wait("function runner is listening", "address");
    // The server must not block on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (server, calls, page)
}

#[test]
fn pages_work_in_a_browser() {
    let Some(modules) = std::env::var_os("KILN_BROWSER_DIR") else {
        return skip(
            "pages_work_in_a_browser",
            "no browser: KILN_BROWSER_DIR is not set, see tests/browser/up",
        );
    };
    let (Some(chromium), Some(node)) = (
        program(&["chromium", "chromium-browser"]),
        program(&["node"]),
    ) else {
        return skip(
            "pages_work_in_a_browser",
            "no browser: chromium and node are needed",
        );
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let test_env = TestEnvironment::new();
    copy(&root.join("examples/shop"), &test_env.work().join("shop"));
    let ran = test_env.kiln(&["fn", "render", "shop", "--report", "report.html"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (_server, calls, page) = serve(&test_env);
    let runner = format!("http://{calls}");
    for arguments in [
        &["fn", "render", "shop", "--runner", &runner, "--no-native"][..],
        &[
            "fn",
            "eval",
            "shop",
            "--runner",
            &runner,
            "--no-native",
            "-i",
            "set-labels:v0.2.0",
        ],
        &[
            "fn",
            "eval",
            "shop",
            "--runner",
            &runner,
            "--no-native",
            "-i",
            "no-such-function:v1",
        ],
    ] {
        // The last one fails, which the page shows.
        test_env.kiln(arguments, "");
    }
    let screenshots = root.join("docs/images");
    let input = json!({
        "chromium": chromium,
        "pages": [
            {"name": "report", "address": format!("file://{}", test_env.work().join("report.html").display())},
            {"name": "status", "address": format!("http://{page}/")},
        ],
        "screenshots": std::env::var_os("KILN_UPDATE").map(|_| screenshots.display().to_string()),
    });
    let output = Command::new(node)
        .arg(root.join("tests/browser/check.cjs"))
        .arg(input.to_string())
        .env("KILN_BROWSER_DIR", modules)
        .stdin(Stdio::null())
        .output()
        .expect("node");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains(" 0 failures"), "{text}");
}
