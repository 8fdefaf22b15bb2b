//! Standard error: lines, and on a terminal below them a progress line with what kiln is waiting for.
//!
//! The progress line is erased before anything else is written, and never drawn after an incomplete line. If standard error
//! is not a terminal there is no progress line.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kiln_go::{GoDuration, quote};
use kiln_render::StepNumber;

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
    pulls: Vec<RunningPull>,
}

struct Running {
    id: u64,
    work: Work,
    /// What it is doing; may be empty.
    detail: String,
    started: Instant,
}

/// What takes time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Function {
        name: String,
        step: Option<StepNumber>,
    },
    /// The image that a command pulls.
    Pull(String),
    /// Git talks to a remote. It may ask for a password on the same line, which must then stay as it is.
    Git {
        command: &'static str,
        address: String,
    },
}

/// An image that functions wait for.
struct RunningPull {
    id: u64,
    image: String,
    detail: String,
}

/// Running work. Dropping it ends the progress line.
#[must_use = "dropping it means that the work has ended"]
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

    /// Shows the bytes of a pull with the function that waits for it, until the returned value is dropped.
    pub(crate) fn pull(&self, image: &str) -> Option<Progress> {
        if !self.shared.has_progress {
            return None;
        }
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.pulls.push(RunningPull {
            id,
            image: image.to_owned(),
            detail: String::new(),
        });
        let screen = self.clone();
        Some(Progress { screen, id })
    }

    /// Shows what takes time, until the returned value is dropped.
    pub(crate) fn progress(&self, work: Work) -> Option<Progress> {
        if !self.shared.has_progress {
            return None;
        }
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.running.push(Running {
            id,
            work,
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
            let Some(oldest) = state.running.first() else {
                state = self
                    .shared
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let elapsed = oldest.started.elapsed();
            let is_final = state.is_drawn && matches!(oldest.work, Work::Git { .. });
            if elapsed >= TICK && !state.is_mid_line && !is_final {
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
        let pulls = state.pulls.iter_mut();
        for pull in pulls.filter(|pull| pull.id == self.id) {
            detail.clone_into(&mut pull.detail);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut state = self.screen.lock();
        state.pulls.retain(|pull| pull.id != self.id);
        let before = state.running.len();
        state.running.retain(|running| running.id != self.id);
        if state.running.len() != before {
            state.erase();
        }
    }
}

impl State {
    fn erase(&mut self) {
        if self.is_drawn {
            let _ = io::stderr().lock().write_all(ERASE);
            self.is_drawn = false;
        }
    }

    /// The pull that a function waits for. Functions may have short names for their images.
    fn pull_of(&self, running: &Running) -> Option<&RunningPull> {
        let Work::Function { name, .. } = &running.work else {
            return None;
        };
        let is_alone = self.running.len() == 1;
        let mut pulls = self.pulls.iter();
        pulls.find(|pull| is_alone || pull.image.ends_with(name.as_str()))
    }

    fn draw(&mut self) {
        let Some(oldest) = self.running.first() else {
            return;
        };
        let seconds = Duration::from_secs(oldest.started.elapsed().as_secs());
        let others = self.running.len() - 1;
        let pull = self.pull_of(oldest);
        let line = progress_line(oldest, pull, seconds, others, width());
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(ERASE);
        let _ = stderr.write_all(line.as_bytes());
        let _ = stderr.flush();
        self.is_drawn = true;
    }
}

/// The time comes first, because names may be long and what does not fit is cut off: only one line can be erased.
fn progress_line(
    running: &Running,
    pull: Option<&RunningPull>,
    elapsed: Duration,
    others: usize,
    width: usize,
) -> String {
    let seconds = GoDuration::from_whole_millis(elapsed);
    let mut line = match &running.work {
        Work::Function { name, step: None } => format!("  {seconds} {}", quote(name)),
        Work::Function {
            name,
            step: Some(StepNumber { number, count }),
        } => format!("  {seconds} step {number} of {count}: {}", quote(name)),
        Work::Pull(image) => format!("  {seconds} {}", quote(image)),
        // It is not drawn again, so the time would be wrong.
        Work::Git { command, address } => format!("  git {command} {} ", quote(address)),
    };
    if !running.detail.is_empty() {
        line.push_str(&format!(": {}", running.detail));
    }
    match pull {
        Some(pull) if pull.detail.is_empty() => line.push_str(" (waiting for image pull)"),
        Some(pull) => line.push_str(&format!(" (waiting for image pull, {})", pull.detail)),
        None => {}
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
    fn check(work: Work, detail: &str, others: usize, width: usize, expected: &str) {
        let running = running(work, detail);
        let line = progress_line(&running, None, Duration::from_secs(63), others, width);
        assert_eq!(line, expected);
    }

    fn running(work: Work, detail: &str) -> Running {
        Running {
            id: 0,
            work,
            detail: detail.to_owned(),
            started: Instant::now(),
        }
    }

    fn function(name: &str) -> Work {
        Work::Function {
            name: name.to_owned(),
            step: None,
        }
    }

    #[test]
    fn a_line_fits_and_has_no_control_characters() {
        check(function("set-x"), "", 0, 80, "  1m3s \"set-x\"");
        check(function("set-x"), "", 2, 80, "  1m3s \"set-x\" and 2 more");
        check(function("a\x1b[2Jb"), "", 0, 80, "  1m3s \"a\\x1b[2Jb\"");
        check(function("set-x"), "", 0, 10, "  1m3s \"s");
        check(function("äöü"), "", 0, 13, "  1m3s \"äö");
        check(function("x"), "", 0, 1, "");
        let expected = "  1m3s \"x:v1\": 1.0 MB of 2.0 MB and 1 more";
        let pull = Work::Pull("x:v1".to_owned());
        check(pull, "1.0 MB of 2.0 MB", 1, 80, expected);
        let git = Work::Git {
            command: "fetch",
            address: "https://example.com/\x07r".to_owned(),
        };
        check(git, "", 0, 80, "  git fetch \"https://example.com/\\ar\" ");
    }

    #[test]
    fn a_function_shows_the_pull_that_it_waits_for() {
        let step = |name: &str, number| Work::Function {
            name: name.to_owned(),
            step: Some(StepNumber { number, count: 5 }),
        };
        let pull = |id, image: &str, detail: &str| RunningPull {
            id,
            image: image.to_owned(),
            detail: detail.to_owned(),
        };
        let mut state = State {
            running: vec![running(step("set-x:v1", 2), "")],
            pulls: vec![pull(7, "example.com/other:v1", "")],
            ..State::default()
        };
        let line = |state: &State| {
            let first = &state.running[0];
            progress_line(first, state.pull_of(first), Duration::from_secs(3), 0, 100)
        };
        let start = "  3s step 2 of 5: \"set-x:v1\"";
        assert_eq!(line(&state), format!("{start} (waiting for image pull)"));
        state.running.push(running(step("other:v1", 3), ""));
        assert_eq!(line(&state), start);
        state
            .pulls
            .push(pull(8, "example.com/set-x:v1", "12.3 MB of 40.0 MB"));
        let expected = format!("{start} (waiting for image pull, 12.3 MB of 40.0 MB)");
        assert_eq!(line(&state), expected);
    }
}
