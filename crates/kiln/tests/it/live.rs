//! A running kiln, whose standard error is read line by line and which gets signals.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) struct Live {
    child: Child,
    stderr: BufReader<ChildStderr>,
    all_output: String,
}

impl Live {
    pub(crate) fn start(command: &mut Command) -> Live {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let stderr = child.stderr.take().expect("a pipe");
        Live {
            child,
            stderr: BufReader::new(stderr),
            all_output: String::new(),
        }
    }

    /// Reads until a line contains `wanted`; returns what was printed until then.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("text");
            self.all_output.push_str(&line);
            assert_ne!(read, 0, "no {wanted:?} in {}", self.all_output);
            printed.push_str(&line);
            if line.contains(wanted) {
                return printed;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("is there");
    }

    /// The exit code and the rest of the output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut printed = String::new();
        self.stderr.read_to_string(&mut printed).expect("text");
        (self.child.wait().expect("ends").code(), printed)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process is there and not only waited for.
fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or_default();
        !state.trim_start().starts_with('Z')
    })
}

/// Killing is asynchronous: gives the system a moment.
#[track_caller]
pub(crate) fn assert_gone(process: &str) {
    let started = Instant::now();
    while is_alive(process) {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{process} lives"
        );
        thread::yield_now();
    }
}
