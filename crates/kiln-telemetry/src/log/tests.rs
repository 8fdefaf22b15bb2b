//! Log records.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::dispatcher::with_default;

use crate::{LogFormat, LogLevel, LogOptions, dispatch};

/// The log.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(level: &str, format: LogFormat, what: impl FnOnce()) -> String {
    let buffer = Buffer::default();
    let options = LogOptions {
        level: level.parse().expect("a level"),
        format,
        output: Box::new(buffer.clone()),
    };
    with_default(&dispatch(options), what);
    let bytes = buffer.0.lock().expect("a lock").clone();
    String::from_utf8(bytes).expect("text")
}

/// One event of every kind.
fn log_everything() {
    tracing::info!("listening");
    let call = tracing::info_span!(
        "evaluate",
        otel.kind = "server",
        request_id = "r1",
        image = "a",
        evaluator = tracing::field::Empty,
    );
    call.in_scope(|| {
        call.record("evaluator", "exec");
        tracing::debug_span!("queue", lane = "processes").in_scope(|| {});
        tracing::debug!("details");
        tracing::trace!("more details");
        tracing::warn!(image = "b", code = ?Some(1), exit = -1_i64, ok = false, "bad");
        tracing::info!(ratio = 0.5, "evaluated");
    });
    tracing::info!(target: "h2::client", "library");
    tracing::warn!(target: "h2::client", "library warns");
    tracing::error!(target: "opentelemetry_sdk", "dropped");
}

#[track_caller]
fn check_messages(level: &str, expected: &[&str]) {
    let text = logged(level, LogFormat::Json, log_everything);
    let message = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record["message"].as_str().expect("a message").to_owned()
    };
    let messages: Vec<String> = text.lines().map(message).collect();
    assert_eq!(messages, expected, "level {level}");
}

#[test]
fn each_level_logs_more() {
    check_messages("0", &["bad", "library warns"]);
    check_messages("1", &["listening", "bad", "library warns"]);
    check_messages("2", &["listening", "bad", "evaluated", "library warns"]);
    let three = [
        "listening",
        "queue done",
        "details",
        "bad",
        "evaluated",
        "library warns",
    ];
    check_messages("3", &three);
    let four = [
        "listening",
        "queue done",
        "details",
        "more details",
        "bad",
        "evaluated",
        "library warns",
    ];
    check_messages("4", &four);
    let five = [
        "listening",
        "queue done",
        "details",
        "more details",
        "bad",
        "evaluated",
        "library",
        "library warns",
        "dropped",
    ];
    check_messages("5", &five);
}

#[test]
fn json_has_the_fields_of_the_call_once() {
    let text = logged("0", LogFormat::Json, log_everything);
    let line = text.lines().next().expect("a line");
    let mut record: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let time = record["time"].take();
    let time: jiff::Timestamp = time.as_str().expect("a time").parse().expect("a time");
    assert!(time <= jiff::Timestamp::now());
    let expected = serde_json::json!({
        "time": null,
        "level": "warning",
        "message": "bad",
        "request_id": "r1",
        "image": "b",
        "evaluator": "exec",
        "code": "Some(1)",
        "exit": -1,
        "ok": false,
        "target": "kiln_telemetry::log::tests",
    });
    assert_eq!(record, expected);
    assert!(line.starts_with("{\"time\":\"20"), "{line}");
}

#[test]
fn text_is_klogs_format() {
    let text = logged("2", LogFormat::Text, log_everything);
    let lines: Vec<&str> = text.lines().collect();
    let line = lines[1];
    let (head, fields) = line.split_once("] ").expect("a head");
    let expected =
        r#""bad" request_id="r1" image="b" evaluator="exec" code="Some(1)" exit=-1 ok=false"#;
    assert_eq!(fields, expected);
    let words: Vec<&str> = head.split_ascii_whitespace().collect();
    let [date, time, pid, location] = words[..] else {
        panic!("{head}");
    };
    assert!(date.starts_with('W') && date.len() == 5, "{date}");
    assert_eq!(time.len(), "03:34:35.123456".len(), "{time}");
    assert_eq!(pid, std::process::id().to_string());
    assert!(location.starts_with("tests.rs:"), "{location}");
    assert!(lines[0].starts_with('I') && lines[0].ends_with("] \"listening\""));
    assert!(lines[2].ends_with("ratio=0.5"), "{}", lines[2]);
}

#[test]
fn steps_have_their_duration() {
    let text = logged("3", LogFormat::Json, log_everything);
    let line = text.lines().find(|line| line.contains("queue done"));
    let record: serde_json::Value = serde_json::from_str(line.expect("a line")).expect("JSON");
    assert!(record["took_us"].is_u64(), "{record}");
    assert_eq!(record["lane"], "processes");
    assert_eq!(record["request_id"], "r1");
}

#[test]
fn nothing_breaks_a_line() {
    let hostile = "a\"\\\n\r\t\u{1b}[31m\u{0}\u{2028}ü";
    for format in [LogFormat::Text, LogFormat::Json] {
        let text = logged("2", format, || tracing::info!(image = hostile, "{hostile}"));
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(
            !text.contains(['\u{1b}', '\u{0}', '\r', '\u{2028}']),
            "{text}"
        );
    }
    let text = logged("2", LogFormat::Json, || {
        tracing::info!(image = hostile, "x")
    });
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["image"], hostile);
}

/// Characters that change the text direction or are invisible.
const INVISIBLE: &str = "\u{7f}\u{80}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{17b4}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\
    \u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2064}\u{2066}\u{2067}\u{2068}\u{2069}\u{206f}\
    \u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{fffb}\u{110bd}\u{13430}\u{1bca0}\u{1d173}\u{e0001}\u{e0041}\u{e0100}\u{f0000}";

#[test]
fn invisible_characters_are_escaped() {
    for c in INVISIBLE.chars() {
        let hostile = format!("set-labels:v1{c}gpj.exe");
        for format in [LogFormat::Text, LogFormat::Json] {
            let text = logged("2", format, || {
                let span = tracing::info_span!("evaluate", request_id = hostile.as_str());
                let error: Box<dyn std::error::Error> = hostile.clone().into();
                span.in_scope(|| {
                    tracing::info!(image = hostile, debug = ?hostile, shown = %hostile, error, "{hostile}");
                });
            });
            assert!(!text.contains(c), "{:?} in {text:?}", c);
            let units = c
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<String>();
            assert!(text.contains(&units), "{units} in {text}");
        }
        let text = logged("2", LogFormat::Json, || {
            tracing::info!(image = hostile, "x");
        });
        let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(record["image"], hostile);
    }
}

#[test]
fn texts_of_all_languages_stay_readable() {
    let readable = "ünïcödé cafe\u{301} 日本語 हिन्दी ภาษาไทย עברית العربية 한국어 😀 → ≤ “…”";
    for format in [LogFormat::Text, LogFormat::Json] {
        let text = logged("2", format, || tracing::info!("{readable}"));
        assert!(text.contains(&format!("\"{readable}\"")), "{text}");
    }
}

#[test]
fn long_values_are_truncated() {
    let long = "ü".repeat(10_000);
    let text = logged("2", LogFormat::Json, || tracing::info!(long, "x"));
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let expected = format!("{}… (20000 bytes)", "ü".repeat(4096));
    assert_eq!(record["long"], expected);
}

#[test]
fn levels_and_formats_are_parsed() {
    assert_eq!(
        "0".parse::<LogLevel>()
            .map(|level| level.to_string())
            .as_deref(),
        Ok("0")
    );
    assert_eq!(LogLevel::default().to_string(), "2");
    assert_eq!(LogLevel::clamped(-1).to_string(), "0");
    assert_eq!(LogLevel::clamped(3).to_string(), "3");
    assert_eq!(LogLevel::clamped(10).to_string(), "5");
    for wrong in ["6", "-1", "", "info", "99999999999999999999"] {
        let error = wrong.parse::<LogLevel>().expect_err("no level").to_string();
        let expected = format!(
            "{wrong:?} is not a log level; it is a number from 0 (errors and warnings) to 5 (everything)"
        );
        assert_eq!(error, expected);
    }
    assert_eq!("json".parse(), Ok(LogFormat::Json));
    let error = "yaml".parse::<LogFormat>().expect_err("no format");
    assert_eq!(
        error.to_string(),
        "\"yaml\" is not a log format; it is text or json"
    );
}
