//! The formats of log records: klog's text, and JSON.

use std::fmt::Write as _;
use std::process;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tracing::{Level, Metadata};

use super::fields::{FieldValue, RecordFields};

/// The format of log records.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LogFormat {
    /// klog's format: `I1116 03:34:35.123456 7 service.rs:42] "evaluated" image="…" exit_code=0`.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// A text that is not a log format.
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

pub(super) struct LogRecord<'a> {
    at: Timestamp,
    metadata: &'a Metadata<'a>,
    fields: RecordFields,
}

impl<'a> LogRecord<'a> {
    pub(super) fn new(metadata: &'a Metadata<'a>, fields: RecordFields) -> LogRecord<'a> {
        LogRecord {
            at: Timestamp::now(),
            metadata,
            fields,
        }
    }
}

impl LogFormat {
    /// The record as a line.
    pub(super) fn render(self, record: &LogRecord<'_>) -> String {
        match self {
            LogFormat::Text => text(record),
            LogFormat::Json => json(record),
        }
    }
}

fn text(record: &LogRecord<'_>) -> String {
    let metadata = record.metadata;
    let letter = match *metadata.level() {
        Level::ERROR => 'E',
        Level::WARN => 'W',
        // klog has no other letters.
        Level::INFO | Level::DEBUG | Level::TRACE => 'I',
    };
    let at = record.at.to_zoned(TimeZone::UTC);
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
    quote(&mut out, &record.fields.message);
    for (name, value) in &record.fields.named {
        out.push(' ');
        out.push_str(name);
        out.push('=');
        push_value(&mut out, value);
    }
    out.push('\n');
    out
}

fn json(record: &LogRecord<'_>) -> String {
    let level = match *record.metadata.level() {
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
        record.at
    );
    quote(&mut out, &record.fields.message);
    for (name, value) in &record.fields.named {
        // A field must not imitate one of ours.
        if ["time", "level", "target"].contains(name) {
            continue;
        }
        out.push(',');
        quote(&mut out, name);
        out.push(':');
        push_value(&mut out, value);
    }
    out.push_str(",\"target\":");
    quote(&mut out, record.metadata.target());
    out.push_str("}\n");
    out
}

fn push_value(out: &mut String, value: &FieldValue) {
    match value {
        FieldValue::Text(text) => quote(out, text),
        FieldValue::Bare(text) => out.push_str(text),
    }
}

/// Writes a JSON string, which readers of klog's format accept too. Characters that start a line, move the cursor, change the
/// text direction or are invisible are escaped: readers see the whole value, in order.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            c if is_visible(c) => out.push(c),
            c => {
                // JSON escapes characters beyond 16 bits as a surrogate pair.
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Whether a character is visible: not a control, format, separator or ignorable character.
fn is_visible(c: char) -> bool {
    // Letters and marks that Unicode defines as default-ignorable.
    let is_ignorable = matches!(c,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}');
    // `escape_debug` knows all other invisible characters. It escapes marks only at the start of a text.
    let mut buffer = [b'a'; 5];
    let (_, encoded) = buffer.split_at_mut(1);
    let size = 1 + c.encode_utf8(encoded).len();
    let after_a_letter = std::str::from_utf8(buffer.get(..size).unwrap_or_default());
    let is_printed = after_a_letter.is_ok_and(|text| text.escape_debug().nth(1) == Some(c));
    is_printed && !is_ignorable
}
