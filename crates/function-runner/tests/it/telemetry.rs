//! Metrics, traces and logs of the program.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::program::{CAT, Runner, RunnerFiles};

const NO_PODS: &str = "--disable-runtimes=pod";

#[tokio::test]
async fn metrics_are_served() {
    let files = RunnerFiles::new();
    let mut command = files.command(&[NO_PODS]);
    command
        .env("OTEL_METRICS_EXPORTER", "prometheus")
        .env("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1")
        .env("OTEL_EXPORTER_PROMETHEUS_PORT", "0");
    let runner = Runner::start(command);
    let line = runner.wait_for_log("metrics are at /metrics");
    let address = line.split("address=\"").nth(1);
    let address = address.and_then(|rest| rest.split('"').next());
    runner.call(CAT).await.expect("an answer");
    let mut stream = TcpStream::connect(address.expect("an address")).expect("a connection");
    let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request).expect("a request");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    let count =
        format!("kiln_evaluations_total{{image=\"{CAT}\",evaluator=\"exec\",code=\"OK\"}} 1");
    assert!(page.lines().any(|line| line == count), "{page}");
    let name = "target_info{service_name=\"function-runner\"} 1";
    assert!(page.lines().any(|line| line == name), "{page}");
    let line = runner.wait_for_log("\"evaluated\"");
    for part in ["request_id=", "image=", "exit_code=0", "execution_us="] {
        assert!(line.contains(part), "{line}");
    }
}

#[tokio::test]
async fn a_missing_collector_is_harmless() {
    let files = RunnerFiles::new();
    let mut command = files.command(&[NO_PODS]);
    command
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .env("OTEL_BSP_SCHEDULE_DELAY", "1");
    let runner = Runner::start(command);
    runner.call(CAT).await.expect("an answer");
    runner.wait_for_log("cannot send traces");
    runner.call(CAT).await.expect("an answer");
}

#[test]
fn what_is_not_known_ends_the_start() {
    let files = RunnerFiles::new();
    for (name, value) in [
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
    ] {
        let output = files.command(&[NO_PODS]).env(name, value).output();
        let output = output.expect("a program");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{text}");
        let expected = format!("function-runner: {name}: unknown exporter \"{value}\"; known: ");
        assert!(text.starts_with(&expected), "{text}");
    }
    let output = files.output(&[NO_PODS, "--log-format=xml"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("--log-format: \"xml\" is not a log format"),
        "{text}"
    );
}
