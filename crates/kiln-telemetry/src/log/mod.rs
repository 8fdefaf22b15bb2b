//! Records on standard error, one a line, with everything that the spans around them know.
//!
//! A field that a span and a record both have is written once, with the record's value. Nothing is written in pieces, so
//! that lines of several threads do not mix.

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
use fields::Fields;
use format::Line;
pub use format::{LogFormat, LogFormatError};

/// Where records go.
pub type LogOutput = Box<dyn Write + Send>;

/// The trace that a span belongs to, for those who look at log and trace together.
pub(crate) struct TraceId(pub(crate) String);

/// Writes records.
pub(crate) struct LogLayer {
    level: LogLevel,
    format: LogFormat,
    output: Mutex<LogOutput>,
}

/// When a span began.
struct Began(Instant);

impl LogLayer {
    pub(crate) fn new(level: LogLevel, format: LogFormat, output: LogOutput) -> LogLayer {
        LogLayer {
            level,
            format,
            output: Mutex::new(output),
        }
    }

    fn write(&self, line: &Line<'_>) {
        let text = self.format.render(line);
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // There is nobody to tell that nobody can be told.
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
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut extensions = span.extensions_mut();
        extensions.replace(fields);
        if self.level.shows_steps() {
            extensions.replace(Began(Instant::now()));
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            record.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let metadata = event.metadata();
        let scope = ctx.event_scope(event);
        if scope.is_some() && *metadata.level() == Level::INFO && !self.level.shows_calls() {
            return;
        }
        let mut fields = of_scope(scope);
        event.record(&mut fields);
        self.write(&Line::new(metadata, fields));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(&id) else { return };
        let metadata = span.metadata();
        // The call itself has a record of its own when it ends; its steps have none.
        if *metadata.level() < Level::DEBUG {
            return;
        }
        let began = span.extensions().get::<Began>().map(|began| began.0);
        let Some(began) = began else { return };
        let mut fields = of_scope(ctx.span_scope(&id));
        fields.set_message(format!("{} done", metadata.name()));
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        fields.set_number("took_us", micros);
        self.write(&Line::new(metadata, fields));
    }
}

/// What the spans of a scope know, from the outermost to the innermost.
fn of_scope<'a, S: LookupSpan<'a>>(scope: Option<Scope<'a, S>>) -> Fields {
    let mut fields = Fields::default();
    for span in scope.into_iter().flat_map(Scope::from_root) {
        let extensions = span.extensions();
        if let Some(trace) = extensions.get::<TraceId>() {
            fields.set_text("trace_id", &trace.0);
        }
        if let Some(of_span) = extensions.get::<Fields>() {
            fields.merge(of_span);
        }
    }
    fields
}

#[cfg(test)]
mod tests;
