//! Standard error: lines, and on a terminal below them a progress line with the time that a function has been running.
//!
//! The progress line is erased before anything else is written, and never drawn after an incomplete line. If standard error
//! is not a terminal there is no progress line.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kiln_go::{GoDuration, quote};

/// How long a function runs before the progress line is shown, and how often it is redrawn.
const TICK: Duration = Duration::from_secs(1);

/// Moves to the first column and erases the line.
const ERASE: &[u8] = b"\r\x1b[K";

/// The width of a terminal that does not report its own.
const DEFAULT_WIDTH: usize = 80;

/// Standard error, shared by all threads.
#[derive(Clone)]
pub(crate) struct Screen {
    shared: Arc<Shared>,
}

struct Shared {
    has_progress: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the progress line is on the screen.
    is_drawn: bool,
    /// Whether the last line written is incomplete.
    is_mid_line: bool,
    has_painter: bool,
    next: u64,
    running: Vec<Running>,
}

struct Running {
    id: u64,
    function: String,
    /// What it is doing; may be empty.
    detail: String,
    started: Instant,
}

/// A running function. Dropping it ends the progress line.
#[must_use = "dropping it means that the function has ended"]
pub(crate) struct Progress {
    screen: Screen,
    id: u64,
}

impl Screen {
    /// With `wants_progress`, long-running functions are shown if standard error is a terminal.
    pub(crate) fn new(wants_progress: bool) -> Screen {
        let shared = Shared {
            has_progress: wants_progress && io::stderr().is_terminal(),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        Screen {
            shared: Arc::new(shared),
        }
    }

    /// Writes. A closed standard error is not a reason to stop, so errors are ignored.
    pub(crate) fn write(&self, text: &[u8]) {
        let mut state = self.lock();
        state.erase();
        let _ = io::stderr().lock().write_all(text);
        if let Some(last) = text.last() {
            state.is_mid_line = *last != b'\n';
        }
    }

    /// Erases the progress line before other code writes to the terminal.
    pub(crate) fn clear(&self) {
        self.lock().erase();
    }

    /// Shows how long a function has been running, until the returned value is dropped.
    pub(crate) fn progress(&self, function: &str) -> Option<Progress> {
        if !self.shared.has_progress {
            return None;
        }
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.running.push(Running {
            id,
            function: function.to_owned(),
            detail: String::new(),
            started: Instant::now(),
        });
        if !state.has_painter {
            let painter = self.clone();
            // Without a thread there is only no progress line.
            let spawned = thread::Builder::new().spawn(move || painter.paint());
            state.has_painter = spawned.is_ok();
        }
        self.shared.changed.notify_all();
        let screen = self.clone();
        Some(Progress { screen, id })
    }

    /// Draws until the program ends.
    fn paint(&self) {
        let mut state = self.lock();
        loop {
            let Some(started) = state.running.first().map(|oldest| oldest.started) else {
                state = self
                    .shared
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let elapsed = started.elapsed();
            if elapsed >= TICK && !state.is_mid_line {
                state.draw();
            }
            let into_tick = Duration::from_nanos((elapsed.as_nanos() % TICK.as_nanos()) as u64);
            let waited = self.shared.changed.wait_timeout(state, TICK - into_tick);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Shows what is being done beside the name and the time.
    pub(crate) fn describe(&self, detail: &str) {
        let mut state = self.screen.lock();
        let running = state.running.iter_mut();
        for running in running.filter(|running| running.id == self.id) {
            detail.clone_into(&mut running.detail);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut state = self.screen.lock();
        state.running.retain(|running| running.id != self.id);
        state.erase();
    }
}

impl State {
    fn erase(&mut self) {
        if self.is_drawn {
            let _ = io::stderr().lock().write_all(ERASE);
            self.is_drawn = false;
        }
    }

    fn draw(&mut self) {
        let Some(oldest) = self.running.first() else {
            return;
        };
        let seconds = Duration::from_secs(oldest.started.elapsed().as_secs());
        let others = self.running.len() - 1;
        let line = progress_line(oldest, seconds, others, width());
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(ERASE);
        let _ = stderr.write_all(line.as_bytes());
        let _ = stderr.flush();
        self.is_drawn = true;
    }
}

/// The time comes first, because names may be long and what does not fit is cut off: only one line can be erased.
fn progress_line(running: &Running, elapsed: Duration, others: usize, width: usize) -> String {
    let mut line = format!(
        "  {} {}",
        GoDuration::from_whole_millis(elapsed),
        quote(&running.function)
    );
    if !running.detail.is_empty() {
        line.push_str(&format!(": {}", running.detail));
    }
    if others > 0 {
        line.push_str(&format!(" and {others} more"));
    }
    let mut used = 0;
    let fits = |c: &char| {
        // Nothing beyond ASCII is wider than two columns.
        used += if c.is_ascii() { 1 } else { 2 };
        used < width
    };
    line.chars().take_while(fits).collect()
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    match size.map_or(0, |size| usize::from(size.ws_col)) {
        0 => DEFAULT_WIDTH,
        width => width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(function: &str, others: usize, width: usize, expected: &str) {
        check_detail(function, "", others, width, expected);
    }

    #[track_caller]
    fn check_detail(function: &str, detail: &str, others: usize, width: usize, expected: &str) {
        let running = Running {
            id: 0,
            function: function.to_owned(),
            detail: detail.to_owned(),
            started: Instant::now(),
        };
        let line = progress_line(&running, Duration::from_secs(63), others, width);
        assert_eq!(line, expected);
    }

    #[test]
    fn a_line_fits_and_has_no_control_characters() {
        check("set-x", 0, 80, "  1m3s \"set-x\"");
        check("set-x", 2, 80, "  1m3s \"set-x\" and 2 more");
        check("a\x1b[2Jb", 0, 80, "  1m3s \"a\\x1b[2Jb\"");
        check("set-x", 0, 10, "  1m3s \"s");
        check("äöü", 0, 13, "  1m3s \"äö");
        check("x", 0, 1, "");
        check_detail(
            "x:v1",
            "1.0 MB of 2.0 MB",
            1,
            80,
            "  1m3s \"x:v1\": 1.0 MB of 2.0 MB and 1 more",
        );
    }
}
