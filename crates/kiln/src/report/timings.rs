//! The timing breakdown of `--timings`.

use std::cell::RefCell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use kiln_render::{Event, Log};

/// Passes events to a log and records how long functions took.
pub(crate) struct Timings<'a> {
    log: &'a dyn Log,
    started: Instant,
    functions: RefCell<Vec<(String, Duration)>>,
}

impl<'a> Timings<'a> {
    pub(crate) fn new(log: &'a dyn Log) -> Timings<'a> {
        Timings {
            log,
            started: Instant::now(),
            functions: RefCell::default(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// A line for each part. Rendering ended after `rendered`.
    pub(crate) fn report(&self, rendered: Duration) -> String {
        let functions = self.functions.borrow();
        let in_functions: Duration = functions.iter().map(|(_, elapsed)| *elapsed).sum();
        let mut text = String::from("Timings:");
        let mut line = |elapsed: Duration, what: &str| {
            let _ = write!(text, "\n{:>10.3}ms {what}", elapsed.as_secs_f64() * 1000.0);
        };
        line(rendered.saturating_sub(in_functions), "read");
        for (function, elapsed) in functions.iter() {
            line(*elapsed, function);
        }
        line(self.elapsed().saturating_sub(rendered), "write");
        text
    }
}

impl Log for Timings<'_> {
    fn event(&self, event: Event) {
        if let Event::Passed {
            function, elapsed, ..
        }
        | Event::Failed {
            function, elapsed, ..
        } = &event
        {
            let mut functions = self.functions.borrow_mut();
            functions.push((function.clone(), *elapsed));
        }
        self.log.event(event);
    }
}
