//! The timing breakdown of `--timings`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use kiln_render::{Event, Log};
use kiln_wasm::WasmStep;

/// Passes events to a log and records how long functions took.
pub(crate) struct Timings<'a> {
    log: &'a dyn Log,
    started: Instant,
    functions: RefCell<Vec<TimedCall>>,
}

struct TimedCall {
    function: String,
    /// Empty if it is not known.
    identity: String,
    elapsed: Duration,
    is_cached: bool,
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

    /// A line for each part. Rendering ended after `rendered`. `isolation` is how an image was isolated, if kiln itself
    /// ran it; `steps` are parts of functions in WebAssembly.
    pub(crate) fn report(
        &self,
        rendered: Duration,
        isolation: impl Fn(&str) -> Option<String>,
        steps: &[(WasmStep, Duration)],
    ) -> String {
        let functions = self.functions.borrow();
        let in_functions: Duration = functions.iter().map(|call| call.elapsed).sum();
        let mut text = String::from("Timings:");
        let mut line = |elapsed: Duration, what: &str| {
            let _ = write!(text, "\n{:>10.3}ms {what}", elapsed.as_secs_f64() * 1000.0);
        };
        line(rendered.saturating_sub(in_functions), "read");
        for call in functions.iter() {
            let mut what = call.function.clone();
            if !call.identity.is_empty() {
                let _ = write!(what, " = {}", call.identity);
            }
            if call.is_cached {
                what.push_str(" (cached)");
            } else if let Some(level) = isolation(&call.function) {
                let _ = write!(what, " ({level})");
            }
            line(call.elapsed, &what);
        }
        for (step, (count, elapsed)) in by_step(steps) {
            let what = match count {
                1 => format!("  {step}, in a function above"),
                count => format!("  {step}, {count} times in the functions above"),
            };
            line(elapsed, &what);
        }
        line(self.elapsed().saturating_sub(rendered), "write");
        text
    }
}

/// How often each step was done, and how long it took in all.
fn by_step(steps: &[(WasmStep, Duration)]) -> BTreeMap<WasmStep, (usize, Duration)> {
    let mut by_step: BTreeMap<WasmStep, (usize, Duration)> = BTreeMap::new();
    for (step, elapsed) in steps {
        let (count, total) = by_step.entry(*step).or_default();
        *count += 1;
        *total += *elapsed;
    }
    by_step
}

impl Log for Timings<'_> {
    fn event(&self, event: Event) {
        if let Event::Passed {
            function,
            elapsed,
            result,
            record,
            ..
        }
        | Event::Failed {
            function,
            elapsed,
            result,
            record,
            ..
        } = &event
        {
            let mut functions = self.functions.borrow_mut();
            functions.push(TimedCall {
                function: function.clone(),
                identity: result.identity.clone(),
                elapsed: *elapsed,
                is_cached: record.is_cached,
            });
        }
        self.log.event(event);
    }
}
