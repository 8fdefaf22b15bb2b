//! Spans of calls, as a collector gets them.

use std::net::SocketAddr;
use std::sync::Arc;

use http::StatusCode;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use crate::collector::{self, Received, attributes};
use crate::harness::{LIST, Shared, World, run};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// What a caller that is traced sends.
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

async fn traced(shared: Shared, address: SocketAddr, more: &[(&str, &str)]) -> World {
    let endpoint = format!("http://{address}");
    let variables = [
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
    ];
    World::new(shared, &[&variables, more].concat()).await
}

/// The spans of one call that a traced caller made.
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
        let world = traced(shared, address, &more).await;
        let parent = traceparent("01");
        let metadata = [
            ("traceparent", parent.as_str()),
            ("tracestate", "vendor=x"),
            ("x-request-id", "r1"),
        ];
        world.call("good", &metadata).await.expect("an answer");
        let context = world.context();
        let records = world.end().await;

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

        // Whom a function calls is below its execution.
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
fn a_failure_is_an_error_with_its_text() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let world = traced(shared, address, &[]).await;
        let status = world.call("fails", &[]).await.expect_err("a failure");
        world.end().await;
        let spans = received.spans();
        let call = named(&spans, "evaluate");
        assert!(call.parent_span_id.is_empty());
        let said = call.status.clone().expect("a status");
        assert_eq!(said.code, 2);
        assert_eq!(said.message, format!("INTERNAL: {}", status.message()));
        let attributes = attributes(&call.attributes);
        let exit_code = ("exit_code".to_owned(), "3".to_owned());
        assert!(attributes.contains(&exit_code), "{attributes:?}");
    });
}

#[test]
fn grpc_carries_the_same_and_headers() {
    run(async |shared| {
        let (address, received) = collector::grpc().await;
        let more = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x"),
        ];
        let world = traced(shared, address, &more).await;
        let parent = traceparent("01");
        let metadata = [("traceparent", parent.as_str())];
        world.call("good", &metadata).await.expect("an answer");
        world.end().await;
        check_spans(&received);
        let headers = received.headers.lock().expect("a lock")[0].clone();
        assert_eq!(headers["authorization"], "Bearer x");
    });
}

#[test]
fn what_the_caller_does_not_keep_is_not_sent() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let world = traced(shared, address, &[]).await;
        let parent = traceparent("00");
        let metadata = [("traceparent", parent.as_str())];
        world.call("good", &metadata).await.expect("an answer");
        let context = world.context();
        world.end().await;
        assert!(received.spans().is_empty());
        // But those who are called know the trace, and that it is not kept.
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
fn a_context_that_is_none_begins_a_trace() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let world = traced(shared, address, &[]).await;
        for wrong in [
            "",
            "00-x-y-01",
            "00-00000000000000000000000000000000-0000000000000000-01",
        ] {
            let metadata = [("traceparent", wrong)];
            world.call("good", &metadata).await.expect("an answer");
        }
        world.end().await;
        let spans = received.spans();
        let calls = spans.iter().filter(|span| span.name == "evaluate");
        let roots = calls.filter(|span| span.parent_span_id.is_empty());
        assert_eq!(roots.count(), 3);
    });
}

#[test]
fn without_an_exporter_the_context_is_passed_on() {
    run(async |shared| {
        let world = World::new(shared, &[]).await;
        let parent = traceparent("01");
        let metadata = [("traceparent", parent.as_str()), ("tracestate", "vendor=x")];
        world.call("good", &metadata).await.expect("an answer");
        let expected = [
            ("traceparent", parent.clone()),
            ("tracestate", "vendor=x".to_owned()),
        ];
        assert_eq!(world.context(), expected);
        world.call("good", &[]).await.expect("an answer");
        assert!(world.context().is_empty());
        let records = world.end().await;
        let traces: Vec<_> = records
            .iter()
            .filter(|record| record["message"] == "evaluated")
            .map(|record| record["trace_id"].as_str())
            .collect();
        assert_eq!(traces, [Some(TRACE), None]);
    });
}

#[test]
fn a_busy_collector_is_asked_again() {
    run(async |shared| {
        let (address, received) = collector::http(None).await;
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        received.refusals.lock().expect("a lock").push(busy);
        let more = [("OTEL_BSP_SCHEDULE_DELAY", "1")];
        let world = traced(shared, address, &more).await;
        world.call("good", &[]).await.expect("an answer");
        // The processor of spans sends on its own after a while, and then again.
        while received.spans().len() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(received.paths.lock().expect("a lock").len() >= 2);
        let records = world.end().await;
        let said: Vec<&str> = records
            .iter()
            .filter_map(|record| record["message"].as_str())
            .filter(|message| message.starts_with("traces"))
            .collect();
        let expected = [
            "traces cannot be sent and are dropped; calls are not affected",
            "traces can be sent again",
        ];
        assert_eq!(said, expected);
    });
}

#[test]
fn tls_trusts_whom_it_is_told_to() {
    for is_told in [true, false] {
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
            if is_told {
                let ca = ca.to_str().expect("a path");
                variables.push(("OTEL_EXPORTER_OTLP_CERTIFICATE", ca));
            }
            let world = World::new(shared, &variables).await;
            world.call("good", &[]).await.expect("an answer");
            world.end().await;
            let expected = if is_told { 3 } else { 0 };
            assert_eq!(received.spans().len(), expected);
        });
    }
}

/// A server's side of TLS, and the certificate that it shows.
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
