//! The metrics page after calls.

use std::time::Duration;

use kiln_server::{Finished, Lane};
use tonic::Code;

use super::Metrics;
use crate::image_labels::MAX_IMAGES;

fn call(image: &str, code: Code) -> Finished<'_> {
    Finished {
        call: 1,
        request_id: "r",
        image,
        evaluator: Some("exec"),
        code,
        message: "",
        queue: Duration::from_micros(200),
        execution: Some(Duration::from_millis(2)),
        total: Duration::from_millis(3),
        request_bytes: 100,
        response_bytes: 50,
        exit_code: Some(0),
    }
}

fn metrics() -> Metrics {
    let attribute = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Metrics::new(&[
        attribute("service.name", "function-runner"),
        attribute("deployment.environment", "a \"b\"\n"),
    ])
}

/// The lines of one metric.
fn lines(text: &str, name: &str) -> Vec<String> {
    let is_of = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    let mut lines: Vec<String> = text.lines().filter(is_of).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn calls_are_counted() {
    let metrics = metrics();
    metrics.finished(&call("i", Code::Ok));
    metrics.finished(&call("i", Code::Ok));
    metrics.finished(&call("i", Code::Internal));
    let text = metrics.render();
    assert_eq!(
        lines(&text, "kiln_evaluations_total"),
        [
            r#"kiln_evaluations_total{image="i",evaluator="exec",code="INTERNAL"} 1"#,
            r#"kiln_evaluations_total{image="i",evaluator="exec",code="OK"} 2"#,
        ]
    );
    assert_eq!(
        lines(&text, "kiln_evaluation_failures_total"),
        [r#"kiln_evaluation_failures_total{image="i",class="function"} 1"#]
    );
    let labels = r#"{image="i",evaluator="exec"}"#;
    for (name, value) in [
        ("kiln_evaluation_queue_seconds_count", "3"),
        ("kiln_evaluation_execution_seconds_count", "3"),
        ("kiln_evaluation_execution_seconds_sum", "0.006"),
        ("kiln_evaluation_duration_seconds_count", "3"),
        ("kiln_request_bytes_total", "300"),
        ("kiln_response_bytes_total", "150"),
    ] {
        assert_eq!(lines(&text, name), [format!("{name}{labels} {value}")]);
    }
    let buckets = lines(&text, "kiln_evaluation_queue_seconds_bucket");
    let bucket = |end: &str, count: u32| {
        let name = "kiln_evaluation_queue_seconds_bucket";
        format!(r#"{name}{{le="{end}",image="i",evaluator="exec"}} {count}"#)
    };
    assert!(buckets.contains(&bucket("0.0001", 0)), "{buckets:#?}");
    assert!(buckets.contains(&bucket("0.00025", 3)), "{buckets:#?}");
    assert!(buckets.contains(&bucket("+Inf", 3)), "{buckets:#?}");
    assert!(text.ends_with("# EOF\n"));
    assert_eq!(
        lines(&text, "target_info"),
        [r#"target_info{deployment_environment="a \"b\"\n",service_name="function-runner"} 1"#]
    );
}

#[test]
fn every_failure_has_a_class() {
    let metrics = metrics();
    for (code, class) in [
        (Code::Internal, "function"),
        (Code::DeadlineExceeded, "deadline"),
        (Code::Cancelled, "cancelled"),
        (Code::Unavailable, "infrastructure"),
        (Code::InvalidArgument, "input"),
        (Code::NotFound, "not_found"),
        (Code::ResourceExhausted, "limit"),
        (Code::PermissionDenied, "policy"),
        (Code::Unknown, "unexpected"),
    ] {
        metrics.finished(&call("i", code));
        let line = format!(r#"kiln_evaluation_failures_total{{image="i",class="{class}"}} 1"#);
        let failures = lines(&metrics.render(), "kiln_evaluation_failures_total");
        assert!(failures.contains(&line), "{failures:#?}");
    }
}

#[test]
fn gauges_go_up_and_down() {
    let metrics = metrics();
    let gauge = |name: &str| lines(&metrics.render(), name);
    assert_eq!(
        gauge("kiln_evaluations_queued"),
        [
            r#"kiln_evaluations_queued{lane="forwarded"} 0"#,
            r#"kiln_evaluations_queued{lane="native-large"} 0"#,
            r#"kiln_evaluations_queued{lane="native-slow"} 0"#,
            r#"kiln_evaluations_queued{lane="native-small"} 0"#,
            r#"kiln_evaluations_queued{lane="processes"} 0"#,
        ]
    );
    metrics.running(Lane::Processes, 1);
    metrics.running(Lane::Processes, 1);
    metrics.running(Lane::Processes, -1);
    metrics.waiting(Lane::Small, 1);
    assert_eq!(
        gauge("kiln_evaluations_in_flight")[4],
        r#"kiln_evaluations_in_flight{lane="processes"} 1"#
    );
    assert_eq!(
        gauge("kiln_evaluations_queued")[3],
        r#"kiln_evaluations_queued{lane="native-small"} 1"#
    );
}

#[test]
fn the_number_of_labels_is_limited() {
    let metrics = metrics();
    for number in 0..MAX_IMAGES + 10 {
        metrics.finished(&call(&format!("i{number}"), Code::Ok));
    }
    // Known images keep their label.
    metrics.finished(&call("i0", Code::Ok));
    let long = "x".repeat(10_000);
    let unknown = Finished {
        evaluator: None,
        ..call("unknown", Code::NotFound)
    };
    for other in [
        &call(&long, Code::Ok),
        &call("a\"} 1\n", Code::Ok),
        &unknown,
    ] {
        metrics.finished(other);
    }
    let text = metrics.render();
    let counted = lines(&text, "kiln_evaluations_total");
    assert_eq!(counted.len(), MAX_IMAGES + 2);
    let line = |line: &str| assert!(counted.iter().any(|counted| counted == line), "{line}");
    line(r#"kiln_evaluations_total{image="i0",evaluator="exec",code="OK"} 2"#);
    line(r#"kiln_evaluations_total{image="other",evaluator="exec",code="OK"} 12"#);
    line(r#"kiln_evaluations_total{image="other",evaluator="none",code="NOT_FOUND"} 1"#);
}

#[test]
fn a_call_that_never_ran_has_no_execution_time() {
    let metrics = metrics();
    let refused = Finished {
        execution: None,
        ..call("i", Code::ResourceExhausted)
    };
    metrics.finished(&refused);
    let text = metrics.render();
    assert!(lines(&text, "kiln_evaluation_execution_seconds_count").is_empty());
    assert_eq!(
        lines(&text, "kiln_evaluation_duration_seconds_count").len(),
        1
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_is_measured() {
    let text = metrics().render();
    for name in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
    ] {
        let lines = lines(&text, name);
        let [line] = &lines[..] else {
            panic!("{name} in {text}");
        };
        let value = line.rsplit(' ').next().map(str::parse::<f64>);
        assert!(matches!(value, Some(Ok(0.0..))), "{line}");
    }
}
