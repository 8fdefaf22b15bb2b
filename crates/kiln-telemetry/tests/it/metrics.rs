//! The metrics page.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;

use crate::harness::{LIST, SharedDispatch, TestServer, run};

async fn counted(shared: SharedDispatch) -> TestServer {
    TestServer::new(
        shared,
        &[
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1"),
            ("OTEL_EXPORTER_PROMETHEUS_PORT", "0"),
        ],
    )
    .await
}

/// Sends bytes and reads until the end.
async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    // The server may close the connection before the whole request was sent.
    let _ = stream.write_all(request).await;
    let _ = stream.shutdown().await;
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).into_owned()
}

async fn page(address: SocketAddr) -> String {
    let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let response = exchange(address, request).await;
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(kind), "{head}");
    body.to_owned()
}

#[test]
fn calls_are_counted() {
    run(async |shared| {
        let server = counted(shared).await;
        let address = server.telemetry.metrics_address().expect("an address");
        server.call("good", &[]).await.expect("a response");
        server.call("good", &[]).await.expect("a response");
        let failed = server.call("fails", &[]).await.expect_err("a failure");
        assert_eq!(failed.code(), Code::Internal);
        let unknown = server.call("unknown", &[]).await.expect_err("unknown");
        assert_eq!(unknown.code(), Code::NotFound);
        let page = page(address).await;
        let bytes = 2 * LIST.len();
        for line in [
            r#"kiln_evaluations_total{image="good",evaluator="exec",code="OK"} 2"#,
            r#"kiln_evaluations_total{image="fails",evaluator="exec",code="INTERNAL"} 1"#,
            r#"kiln_evaluations_total{image="other",evaluator="none",code="NOT_FOUND"} 1"#,
            r#"kiln_evaluation_failures_total{image="fails",class="function"} 1"#,
            r#"kiln_evaluation_failures_total{image="other",class="not_found"} 1"#,
            r#"kiln_evaluation_queue_seconds_count{image="good",evaluator="exec"} 2"#,
            r#"kiln_evaluation_execution_seconds_count{image="good",evaluator="exec"} 2"#,
            r#"kiln_evaluation_duration_seconds_count{image="good",evaluator="exec"} 2"#,
            &format!(r#"kiln_request_bytes_total{{image="good",evaluator="exec"}} {bytes}"#),
            &format!(r#"kiln_response_bytes_total{{image="good",evaluator="exec"}} {bytes}"#),
            r#"kiln_evaluations_in_flight{lane="processes"} 0"#,
            r#"kiln_evaluations_queued{lane="processes"} 0"#,
            r#"target_info{service_name="function-runner"} 1"#,
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
        }
        let records = server.records();
        let failed = records.iter().find(|record| record["image"] == "fails");
        let failed = failed.expect("a record");
        assert_eq!(failed["message"], "evaluation failed");
        assert_eq!(failed["level"], "warning");
        assert_eq!(failed["exit_code"], 3);
        assert_eq!(failed["evaluator"], "exec");
        assert_eq!(failed["request_bytes"], LIST.len());
        for time in ["queue_us", "execution_us", "total_us"] {
            assert!(failed[time].is_u64(), "{failed}");
        }
    });
}

#[test]
fn bad_requests_are_harmless() {
    run(async |shared| {
        let server = counted(shared).await;
        let address = server.telemetry.metrics_address().expect("an address");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
        let cases: [(&[u8], &str); 7] = [
            (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 "),
            (
                b"GET /metrics/../x HTTP/1.1\r\nHost: x\r\n\r\n",
                "HTTP/1.1 404 ",
            ),
            (
                b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                "HTTP/1.1 405 ",
            ),
            (
                b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                "HTTP/1.1 200 ",
            ),
            (
                b"\x16\x03\x01\x00\xff\x01\x00\x00\xfb\x03\x03",
                "HTTP/1.1 400 ",
            ),
            (b"", ""),
            (long.as_bytes(), ""),
        ];
        for (request, expected) in cases {
            let response = exchange(address, request).await;
            assert!(response.starts_with(expected), "{response}");
            assert!(!response.contains("HTTP/1.1 200") || expected.contains("200"));
        }
        // An idle connection does not block other connections.
        let _idle = TcpStream::connect(address).await.expect("a connection");
        page(address).await;
        server.call("good", &[]).await.expect("a response");
    });
}
