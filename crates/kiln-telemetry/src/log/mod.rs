//! Log records, one per line, with the fields of the spans around them.
//!
//! A field of both a span and an event is written once, with the event's value. Each record is written at once, so that lines
//! of several threads do not mix.

mod fields;
mod format;

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, Scope};

use crate::level::LogLevel;
use fields::RecordFields;
use format::LogRecord;
pub use format::{LogFormat, LogFormatError};

/// The output of a log.
pub type LogOutput = Box<dyn Write + Send>;

/// The trace of a span, which connects log records with traces.
pub(crate) struct TraceId(pub(crate) String);

pub(crate) struct LogLayer {
    level: LogLevel,
    format: LogFormat,
    output: Mutex<LogOutput>,
}

struct SpanStart(Instant);

impl LogLayer {
    pub(crate) fn new(level: LogLevel, format: LogFormat, output: LogOutput) -> LogLayer {
        LogLayer {
            level,
            format,
            output: Mutex::new(output),
        }
    }

    fn write(&self, record: &LogRecord<'_>) {
        let text = self.format.render(record);
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // A failed write cannot be reported: this is the log.
        let _ = output.write_all(text.as_bytes());
        let _ = output.flush();
    }
}

impl<S> Layer<S> for LogLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        let mut fields = RecordFields::default();
        attributes.record(&mut fields);
        let mut extensions = span.extensions_mut();
        extensions.replace(fields);
        if self.level.includes_steps() {
            extensions.replace(SpanStart(Instant::now()));
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<RecordFields>() {
            record.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let metadata = event.metadata();
        let scope = ctx.event_scope(event);
        if scope.is_some() && *metadata.level() == Level::INFO && !self.level.includes_calls() {
            return;
        }
        let mut fields = scope_fields(scope);
        event.record(&mut fields);
        self.write(&LogRecord::new(metadata, fields));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(&id) else { return };
        let metadata = span.metadata();
        // The end of a call is an event; the end of a step is not.
        if *metadata.level() < Level::DEBUG {
            return;
        }
        let started = span
            .extensions()
            .get::<SpanStart>()
            .map(|started| started.0);
        let Some(started) = started else { return };
        let mut fields = scope_fields(ctx.span_scope(&id));
        fields.set_message(format!("{} done", metadata.name()));
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        fields.set_number("took_us", micros);
        self.write(&LogRecord::new(metadata, fields));
    }
}

/// The fields of the spans of a scope, from the outermost to the innermost.
fn scope_fields<'a, S: LookupSpan<'a>>(scope: Option<Scope<'a, S>>) -> RecordFields {
    let mut fields = RecordFields::default();
    for span in scope.into_iter().flat_map(Scope::from_root) {
        let extensions = span.extensions();
        if let Some(trace) = extensions.get::<TraceId>() {
            fields.set_text("trace_id", &trace.0);
        }
        if let Some(span_fields) = extensions.get::<RecordFields>() {
            fields.merge(span_fields);
        }
    }
    fields
}

#[cfg(test)]
mod tests;
