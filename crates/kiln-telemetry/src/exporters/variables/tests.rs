//! The settings of each variable.

use std::time::Duration;

use crate::Exporters;
use crate::exporters::VariableError;
use crate::traces::{BatchSettings, OtlpProtocol, SamplerSettings, TraceSettings};

fn read(variables: &[(&str, &str)]) -> Result<Exporters, VariableError> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Exporters::from_variables("function-runner", &variable)
}

fn traces(variables: &[(&str, &str)]) -> TraceSettings {
    let on = [("OTEL_TRACES_EXPORTER", "otlp")];
    let exporters = read(&[&on, variables].concat()).expect("good variables");
    exporters.traces.expect("traces")
}

#[track_caller]
fn check_error(variables: &[(&str, &str)], expected: &str) {
    let error = read(variables).expect_err("bad variables");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn nothing_is_enabled_by_default() {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        ("OTEL_METRICS_EXPORTER", "none"),
        ("OTEL_TRACES_EXPORTER", ""),
        ("OTEL_LOGS_EXPORTER", "none"),
    ];
    let exporters = read(&variables).expect("good variables");
    assert!(exporters.prometheus.is_none() && exporters.traces.is_none());
}

#[test]
fn otel_sdk_disabled_disables_everything() {
    let variables = [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_METRICS_EXPORTER", "prometheus"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
    ];
    let exporters = read(&variables).expect("good variables");
    assert!(exporters.prometheus.is_none() && exporters.traces.is_none());
}

#[test]
fn prometheus_has_a_host_and_a_port() {
    let on = ("OTEL_METRICS_EXPORTER", "prometheus");
    let exporters = read(&[on]).expect("good variables");
    assert_eq!(exporters.prometheus, Some(("localhost".to_owned(), 9464)));
    let host = ("OTEL_EXPORTER_PROMETHEUS_HOST", "0.0.0.0");
    let port = ("OTEL_EXPORTER_PROMETHEUS_PORT", "1234");
    let exporters = read(&[on, host, port]).expect("good variables");
    assert_eq!(exporters.prometheus, Some(("0.0.0.0".to_owned(), 1234)));
    let port = ("OTEL_EXPORTER_PROMETHEUS_PORT", "65536");
    check_error(
        &[on, port],
        "OTEL_EXPORTER_PROMETHEUS_PORT: \"65536\" is not a port",
    );
}

#[test]
fn unknown_exporters_are_refused_by_name() {
    check_error(
        &[("OTEL_METRICS_EXPORTER", "prometheus,otlp")],
        "OTEL_METRICS_EXPORTER: unknown exporter \"otlp\"; known: prometheus, none",
    );
    check_error(
        &[("OTEL_TRACES_EXPORTER", "zipkin")],
        "OTEL_TRACES_EXPORTER: unknown exporter \"zipkin\"; known: otlp, none",
    );
    check_error(
        &[("OTEL_LOGS_EXPORTER", "otlp")],
        "OTEL_LOGS_EXPORTER: unknown exporter \"otlp\"; known: none",
    );
    check_error(
        &[("OTEL_SDK_DISABLED", "maybe")],
        "OTEL_SDK_DISABLED: \"maybe\" is not true or false",
    );
}

#[test]
fn endpoints_follow_the_protocol() {
    let endpoint = |variables: &[(&str, &str)]| traces(variables).endpoint.to_string();
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    assert_eq!(endpoint(&[]), "http://localhost:4318/v1/traces");
    assert_eq!(endpoint(&[grpc]), "http://localhost:4317/");
    let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1/base/");
    assert_eq!(endpoint(&[general]), "https://c:1/base/v1/traces");
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:2/x");
    assert_eq!(endpoint(&[general, own]), "http://t:2/x");
    let bare = ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317");
    assert_eq!(endpoint(&[grpc, bare]), "https://c:4317/");
    let insecure = ("OTEL_EXPORTER_OTLP_INSECURE", "true");
    assert_eq!(endpoint(&[grpc, bare, insecure]), "http://c:4317/");
    let own_protocol = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf");
    assert_eq!(traces(&[grpc, own_protocol]).protocol, OtlpProtocol::Http);
    let on = ("OTEL_TRACES_EXPORTER", "otlp");
    for wrong in ["c:4318", "ftp://c", "http://", "/v1", "http:// x"] {
        check_error(
            &[on, ("OTEL_EXPORTER_OTLP_ENDPOINT", wrong)],
            &format!(
                "OTEL_EXPORTER_OTLP_ENDPOINT: {wrong:?} is not http://HOST:PORT or https://HOST:PORT"
            ),
        );
    }
    check_error(
        &[on, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")],
        "OTEL_EXPORTER_OTLP_PROTOCOL: unknown protocol \"http/json\"; known: http/protobuf, grpc",
    );
}

#[test]
fn headers_and_limits_are_parsed() {
    let settings = traces(&[
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "Authorization=Bearer%20x, tenant = a=b",
        ),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
    ]);
    let headers: Vec<(&str, &[u8])> = settings
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let expected: [(&str, &[u8]); 2] = [("authorization", b"Bearer x"), ("tenant", b"a=b")];
    assert_eq!(headers, expected);
    assert_eq!(settings.timeout, Duration::from_millis(250));
    assert_eq!(settings.ca_certificate.as_deref(), Some("/ca.pem".as_ref()));
    let on = ("OTEL_TRACES_EXPORTER", "otlp");
    check_error(
        &[on, ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "sec ret=x")],
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS: is not a list of NAME=VALUE with valid header names and values",
    );
    check_error(
        &[on, ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")],
        "OTEL_EXPORTER_OTLP_TIMEOUT: \"10s\" is not a number of milliseconds",
    );
    check_error(
        &[on, ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")],
        "OTEL_EXPORTER_OTLP_COMPRESSION: unknown compression \"gzip\"; known: none",
    );
}

#[test]
fn samplers_are_parsed() {
    let sampler = |name: &str, argument: &str| {
        let variables = [
            ("OTEL_TRACES_SAMPLER", name),
            ("OTEL_TRACES_SAMPLER_ARG", argument),
        ];
        let SamplerSettings {
            ratio,
            follow_parent,
        } = traces(&variables).sampler;
        (ratio, follow_parent)
    };
    assert_eq!(sampler("", ""), (1.0, true));
    assert_eq!(sampler("always_on", ""), (1.0, false));
    assert_eq!(sampler("always_off", ""), (0.0, false));
    assert_eq!(sampler("traceidratio", "0.25"), (0.25, false));
    assert_eq!(sampler("traceidratio", ""), (1.0, false));
    assert_eq!(sampler("parentbased_always_on", ""), (1.0, true));
    assert_eq!(sampler("parentbased_always_off", ""), (0.0, true));
    assert_eq!(sampler("parentbased_traceidratio", "0.5"), (0.5, true));
    let on = ("OTEL_TRACES_EXPORTER", "otlp");
    let ratio = ("OTEL_TRACES_SAMPLER", "traceidratio");
    check_error(
        &[on, ratio, ("OTEL_TRACES_SAMPLER_ARG", "1.5")],
        "OTEL_TRACES_SAMPLER_ARG: 1.5 is not a number from 0 to 1",
    );
    let error = read(&[on, ("OTEL_TRACES_SAMPLER", "jaeger_remote")]).expect_err("unknown");
    assert_eq!(error.name, "OTEL_TRACES_SAMPLER");
}

#[test]
fn the_service_name_is_found() {
    let resource = |variables: &[(&str, &str)]| read(variables).expect("good variables").resource;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(resource(&[]), [pair("service.name", "function-runner")]);
    let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "a.b=c%2Cd,service.name=attr,e=");
    assert_eq!(
        resource(&[attributes]),
        [
            pair("service.name", "attr"),
            pair("a.b", "c,d"),
            pair("e", "")
        ]
    );
    let named = resource(&[attributes, ("OTEL_SERVICE_NAME", "mine")]);
    assert_eq!(named[0], pair("service.name", "mine"));
    check_error(
        &[("OTEL_RESOURCE_ATTRIBUTES", "a")],
        "OTEL_RESOURCE_ATTRIBUTES: \"a\" is not NAME=VALUE",
    );
}

#[test]
fn batches_have_limits() {
    let settings = traces(&[
        ("OTEL_BSP_SCHEDULE_DELAY", "10"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "20"),
    ]);
    let expected = BatchSettings {
        delay: Duration::from_millis(10),
        queue_size: 20,
        batch_size: 20,
    };
    assert_eq!(settings.batches, expected);
    let on = ("OTEL_TRACES_EXPORTER", "otlp");
    check_error(
        &[on, ("OTEL_BSP_MAX_QUEUE_SIZE", "0")],
        "OTEL_BSP_MAX_QUEUE_SIZE: \"0\" is not a number of at least 1",
    );
}
