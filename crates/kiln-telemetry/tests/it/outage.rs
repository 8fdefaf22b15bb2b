//! A collector that is not there is nobody's problem.

use std::time::Duration;

use kiln_telemetry::{LogFormat, LogLevel, Logs, StartError, Telemetry};
use tokio::net::TcpListener;

use crate::harness::{World, exporters, run};

fn silent() -> Logs {
    Logs {
        level: LogLevel::DEFAULT,
        format: LogFormat::Text,
        output: Box::new(std::io::sink()),
    }
}

#[test]
fn calls_do_not_notice_and_it_is_said_once() {
    for protocol in ["http/protobuf", "grpc"] {
        run(async |shared| {
            // A port that nobody listens to.
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            let address = listener.local_addr().expect("an address");
            drop(listener);
            let endpoint = format!("http://{address}");
            let world = World::new(
                shared,
                &[
                    ("OTEL_TRACES_EXPORTER", "otlp"),
                    ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
                    ("OTEL_EXPORTER_OTLP_TIMEOUT", "300"),
                ],
            )
            .await;
            // More than one batch, so that there is more than one failure.
            for _ in 0..400 {
                world.call("good", &[]).await.expect("an answer");
            }
            let records = world.end().await;
            let said: Vec<_> = records
                .iter()
                .filter(|record| record["level"] == "warning")
                .map(|record| record["message"].as_str().unwrap_or_default())
                .collect();
            let expected = ["traces cannot be sent and are dropped; calls are not affected"];
            assert_eq!(said, expected, "{protocol}");
        });
    }
}

#[test]
fn a_collector_that_never_answers_does_not_keep_us() {
    run(async |shared| {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let world = World::new(
            shared,
            &[
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "600000"),
            ],
        )
        .await;
        world.call("good", &[]).await.expect("an answer");
        // It would take ten minutes if it were waited for.
        let World { telemetry, .. } = world;
        telemetry.shutdown(Duration::from_millis(100)).await;
    });
}

#[test]
fn what_cannot_work_is_found_at_the_start() {
    run(async |_| {
        let taken = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = taken.local_addr().expect("an address").port().to_string();
        let variables = [
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1"),
            ("OTEL_EXPORTER_PROMETHEUS_PORT", port.as_str()),
        ];
        let error = Telemetry::start(silent(), exporters(&variables)).err();
        let text = error.expect("an error").to_string();
        let expected = format!(
            "cannot serve metrics on 127.0.0.1:{port} (OTEL_EXPORTER_PROMETHEUS_HOST, OTEL_EXPORTER_PROMETHEUS_PORT)"
        );
        assert_eq!(text, expected);

        for protocol in ["http/protobuf", "grpc"] {
            let variables = [
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://localhost"),
                ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem"),
            ];
            let error = Telemetry::start(silent(), exporters(&variables)).err();
            let Some(StartError::Traces { reason, .. }) = error else {
                panic!("{error:?}");
            };
            assert!(reason.starts_with("/nowhere/ca.pem: "), "{reason}");
        }
    });
}
