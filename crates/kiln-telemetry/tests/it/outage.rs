//! Collectors that are unreachable or silent.

use std::time::Duration;

use kiln_telemetry::{LogFormat, LogLevel, LogOptions, Telemetry, TelemetryError};
use tokio::net::TcpListener;

use crate::harness::{TestServer, exporters, run};

fn silent() -> LogOptions {
    LogOptions {
        level: LogLevel::DEFAULT,
        format: LogFormat::Text,
        output: Box::new(std::io::sink()),
    }
}

#[test]
fn calls_are_not_affected_and_the_outage_is_logged_once() {
    for protocol in ["http/protobuf", "grpc"] {
        run(async |shared| {
            // A port without a listener.
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            let address = listener.local_addr().expect("an address");
            drop(listener);
            let endpoint = format!("http://{address}");
            let server = TestServer::new(
                shared,
                &[
                    ("OTEL_TRACES_EXPORTER", "otlp"),
                    ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
                    ("OTEL_EXPORTER_OTLP_TIMEOUT", "300"),
                ],
            )
            .await;
            // More than one batch, and so more than one failure.
            for _ in 0..400 {
                server.call("good", &[]).await.expect("a response");
            }
            let records = server.end().await;
            let warnings: Vec<_> = records
                .iter()
                .filter(|record| record["level"] == "warning")
                .map(|record| record["message"].as_str().unwrap_or_default())
                .collect();
            let expected = ["cannot send traces, dropping them; calls are not affected"];
            assert_eq!(warnings, expected, "{protocol}");
        });
    }
}

#[test]
fn a_silent_collector_does_not_delay_shutdown() {
    run(async |shared| {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let server = TestServer::new(
            shared,
            &[
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "600000"),
            ],
        )
        .await;
        server.call("good", &[]).await.expect("a response");
        // Waiting for the collector would take ten minutes.
        let TestServer { telemetry, .. } = server;
        telemetry.shutdown(Duration::from_millis(100)).await;
    });
}

#[test]
fn invalid_settings_are_errors_at_start() {
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
            let Some(TelemetryError::Traces { reason, .. }) = error else {
                panic!("{error:?}");
            };
            assert!(reason.starts_with("/nowhere/ca.pem: "), "{reason}");
        }
    });
}
