//! The two ways in which a record is written: as klog does, or as JSON.

use std::fmt::Write as _;
use std::process;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tracing::{Level, Metadata};

use super::fields::{Fields, Value};

/// How records are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LogFormat {
    /// klog's lines: `I1116 03:34:35.123456 7 service.rs:42] "evaluated" image="…" exit_code=0`.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why a text is no format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is not a log format; it is text or json")]
pub struct LogFormatError {
    text: String,
}

impl FromStr for LogFormat {
    type Err = LogFormatError;

    fn from_str(text: &str) -> Result<LogFormat, LogFormatError> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(LogFormatError {
                text: text.to_owned(),
            }),
        }
    }
}

/// One record.
pub(super) struct Line<'a> {
    at: Timestamp,
    metadata: &'a Metadata<'a>,
    fields: Fields,
}

impl<'a> Line<'a> {
    pub(super) fn new(metadata: &'a Metadata<'a>, fields: Fields) -> Line<'a> {
        Line {
            at: Timestamp::now(),
            metadata,
            fields,
        }
    }
}

impl LogFormat {
    /// The record with its line break.
    pub(super) fn render(self, line: &Line<'_>) -> String {
        match self {
            LogFormat::Text => text(line),
            LogFormat::Json => json(line),
        }
    }
}

fn text(line: &Line<'_>) -> String {
    let metadata = line.metadata;
    let letter = match *metadata.level() {
        Level::ERROR => 'E',
        Level::WARN => 'W',
        // klog knows no more letters than these.
        Level::INFO | Level::DEBUG | Level::TRACE => 'I',
    };
    let at = line.at.to_zoned(TimeZone::UTC);
    let file = metadata.file().unwrap_or(metadata.target());
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let mut out = String::with_capacity(256);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "{letter}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {file}:{}] ",
        at.month(),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.subsec_nanosecond() / 1000,
        process::id(),
        metadata.line().unwrap_or(1),
    );
    quote(&mut out, &line.fields.message);
    for (name, value) in &line.fields.named {
        out.push(' ');
        out.push_str(name);
        out.push('=');
        push_value(&mut out, value);
    }
    out.push('\n');
    out
}

fn json(line: &Line<'_>) -> String {
    let level = match *line.metadata.level() {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    };
    let mut out = String::with_capacity(256);
    let _ = write!(
        out,
        "{{\"time\":\"{:.6}\",\"level\":\"{level}\",\"message\":",
        line.at
    );
    quote(&mut out, &line.fields.message);
    for (name, value) in &line.fields.named {
        // A field cannot pass itself off as one of ours.
        if ["time", "level", "target"].contains(name) {
            continue;
        }
        out.push(',');
        quote(&mut out, name);
        out.push(':');
        push_value(&mut out, value);
    }
    out.push_str(",\"target\":");
    quote(&mut out, line.metadata.target());
    out.push_str("}\n");
    out
}

fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Text(text) => quote(out, text),
        Value::Bare(text) => out.push_str(text),
    }
}

/// A JSON string, which is also what klog's readers understand. Nothing in it can begin a new line or move a cursor.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || c == '\u{2028}' || c == '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
