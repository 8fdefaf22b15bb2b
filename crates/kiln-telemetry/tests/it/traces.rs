//! Spans of calls, as a collector receives them.

use std::net::SocketAddr;
use std::sync::Arc;

use http::StatusCode;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use crate::collector::{self, Received, attributes};
use crate::harness::{LIST, SharedDispatch, TestServer, run};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The header of a traced caller.
fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let mut named = spans.iter().filter(|span| span.name == name);
    let span = named.next().expect("a span");
    assert!(named.next().is_none(), "more than one {name}");
    span
}

async fn traced(shared: SharedDispatch, address: SocketAddr, more: &[(&str, &str)]) -> TestServer {
    let endpoint = format!("http://{address}");
    let variables = [
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
    ];
    TestServer::new(shared, &[&variables, more].concat()).await
}

/// Checks the spans of one call of a traced caller.
fn check_spans(received: &Received) {
    let spans = received.spans();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["evaluate", "queue", "execute"]);
    let [call, queue, execute] = &spans[..] else {
        panic!("three spans");
    };
    assert_eq!(hex(&call.parent_span_id), PARENT);
    assert_eq!(call.kind, SpanKind::Server as i32);
    for span in &spans {
        assert_eq!(hex(&span.trace_id), TRACE);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
    }
    for step in [queue, execute] {
        assert_eq!(step.parent_span_id, call.span_id);
        let expected = [("lane".to_owned(), "processes".to_owned())];
        assert_eq!(attributes(&step.attributes), expected);
        assert_eq!(step.kind, SpanKind::Internal as i32);
    }
}

#[test]
fn a_call_is_part_of_its_callers_trace() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let more = [
            ("OTEL_SERVICE_NAME", "runner"),
            ("OTEL_RESOURCE_ATTRIBUTES", "zone=a"),
        ];
        let server = traced(shared, address, &more).await;
        let parent = traceparent("01");
        let metadata = [
            ("traceparent", parent.as_str()),
            ("tracestate", "vendor=x"),
            ("x-request-id", "r1"),
        ];
        server.call("good", &metadata).await.expect("a response");
        let context = server.context();
        let records = server.end().await;

        check_spans(&received);
        let spans = received.spans();
        let call = named(&spans, "evaluate");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let size = LIST.len().to_string();
        let expected = [
            pair("evaluator", "exec"),
            pair("exit_code", "0"),
            pair("image", "good"),
            pair("request_bytes", &size),
            pair("request_id", "r1"),
            pair("response_bytes", &size),
            pair("rpc.grpc.status_code", "0"),
            pair("rpc.method", "EvaluateFunction"),
            pair("rpc.service", "evaluator.FunctionEvaluator"),
            pair("rpc.system", "grpc"),
        ];
        assert_eq!(attributes(&call.attributes), expected);
        assert!(call.events.is_empty());
        assert_eq!(call.status.clone().unwrap_or_default().code, 0);

        // Outgoing calls of a function are children of its execution.
        let execution = hex(&named(&spans, "execute").span_id);
        let expected = [
            ("traceparent", format!("00-{TRACE}-{execution}-01")),
            ("tracestate", "vendor=x".to_owned()),
        ];
        assert_eq!(context, expected);

        let resource = received.resource();
        for expected in [pair("service.name", "runner"), pair("zone", "a")] {
            assert!(resource.contains(&expected), "{resource:?}");
        }
        assert_eq!(received.paths.lock().expect("a lock")[0], "POST /v1/traces");
        let record = records
            .iter()
            .find(|record| record["message"] == "evaluated");
        let record = record.expect("a record");
        assert_eq!(record["trace_id"], TRACE);
        assert_eq!(record["request_id"], "r1");
    });
}

#[test]
fn a_failed_call_has_an_error_status_with_its_message() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let server = traced(shared, address, &[]).await;
        let status = server.call("fails", &[]).await.expect_err("a failure");
        server.end().await;
        let spans = received.spans();
        let call = named(&spans, "evaluate");
        assert!(call.parent_span_id.is_empty());
        let recorded = call.status.clone().expect("a status");
        assert_eq!(recorded.code, 2);
        assert_eq!(recorded.message, format!("INTERNAL: {}", status.message()));
        let attributes = attributes(&call.attributes);
        let exit_code = ("exit_code".to_owned(), "3".to_owned());
        assert!(attributes.contains(&exit_code), "{attributes:?}");
    });
}

#[test]
fn grpc_sends_the_same_spans_and_headers() {
    run(async |shared| {
        let (address, received) = collector::grpc().await;
        let more = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x"),
        ];
        let server = traced(shared, address, &more).await;
        let parent = traceparent("01");
        let metadata = [("traceparent", parent.as_str())];
        server.call("good", &metadata).await.expect("a response");
        server.end().await;
        check_spans(&received);
        let headers = received.headers.lock().expect("a lock")[0].clone();
        assert_eq!(headers["authorization"], "Bearer x");
    });
}

#[test]
fn unsampled_traces_are_not_sent() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let server = traced(shared, address, &[]).await;
        let parent = traceparent("00");
        let metadata = [("traceparent", parent.as_str())];
        server.call("good", &metadata).await.expect("a response");
        let context = server.context();
        server.end().await;
        assert!(received.spans().is_empty());
        // Outgoing calls have the trace context, with the flag that it is not sampled.
        let (name, value) = &context[0];
        assert_eq!(*name, "traceparent");
        let prefix = format!("00-{TRACE}-");
        assert!(
            value.starts_with(&prefix) && value.ends_with("-00"),
            "{value}"
        );
    });
}

#[test]
fn an_invalid_context_starts_a_new_trace() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let server = traced(shared, address, &[]).await;
        for wrong in [
            "",
            "00-x-y-01",
            "00-00000000000000000000000000000000-0000000000000000-01",
        ] {
            let metadata = [("traceparent", wrong)];
            server.call("good", &metadata).await.expect("a response");
        }
        server.end().await;
        let spans = received.spans();
        let calls = spans.iter().filter(|span| span.name == "evaluate");
        let roots = calls.filter(|span| span.parent_span_id.is_empty());
        assert_eq!(roots.count(), 3);
    });
}

#[test]
fn without_an_exporter_the_context_is_passed_on() {
    run(async |shared| {
        let server = TestServer::new(shared, &[]).await;
        let parent = traceparent("01");
        let metadata = [("traceparent", parent.as_str()), ("tracestate", "vendor=x")];
        server.call("good", &metadata).await.expect("a response");
        let expected = [
            ("traceparent", parent.clone()),
            ("tracestate", "vendor=x".to_owned()),
        ];
        assert_eq!(server.context(), expected);
        server.call("good", &[]).await.expect("a response");
        assert!(server.context().is_empty());
        let records = server.end().await;
        let traces: Vec<_> = records
            .iter()
            .filter(|record| record["message"] == "evaluated")
            .map(|record| record["trace_id"].as_str())
            .collect();
        assert_eq!(traces, [Some(TRACE), None]);
    });
}

#[test]
fn a_busy_collector_gets_a_retry() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        received.refusals.lock().expect("a lock").push(busy);
        let more = [("OTEL_BSP_SCHEDULE_DELAY", "1")];
        let server = traced(shared, address, &more).await;
        server.call("good", &[]).await.expect("a response");
        // The span processor sends after its delay, and retries.
        while received.spans().len() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(received.paths.lock().expect("a lock").len() >= 2);
        let records = server.end().await;
        let messages: Vec<&str> = records
            .iter()
            .filter_map(|record| record["message"].as_str())
            .filter(|message| message.contains("traces"))
            .collect();
        let expected = [
            "cannot send traces, dropping them; calls are not affected",
            "sending traces works again",
        ];
        assert_eq!(messages, expected);
    });
}

#[test]
fn tls_trusts_the_configured_ca() {
    for has_ca in [true, false] {
        run(async |shared| {
            let (tls, pem) = certified();
            let (address, received) = collector::http(Some(tls)).await;
            let directory = tempfile::tempdir().expect("a directory");
            let ca = directory.path().join("ca.pem");
            std::fs::write(&ca, pem).expect("a file");
            let endpoint = format!("https://localhost:{}", address.port());
            let mut variables = vec![
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ];
            if has_ca {
                let ca = ca.to_str().expect("a path");
                variables.push(("OTEL_EXPORTER_OTLP_CERTIFICATE", ca));
            }
            let server = TestServer::new(shared, &variables).await;
            server.call("good", &[]).await.expect("a response");
            server.end().await;
            let expected = if has_ca { 3 } else { 0 };
            assert_eq!(received.spans().len(), expected);
        });
    }
}

/// The TLS configuration of a server, and its certificate.
fn certified() -> (TlsAcceptor, String) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let certified = certified.expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a configuration");
    (TlsAcceptor::from(Arc::new(config)), certified.cert.pem())
}
