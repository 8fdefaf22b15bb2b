//! A kiln that is running: what it says is heard line by line, and signals reach it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) struct Live {
    child: Child,
    stderr: BufReader<ChildStderr>,
    heard: String,
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
            heard: String::new(),
        }
    }

    /// Listens until a line has `wanted` in it; gives what was said until then.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("text");
            self.heard.push_str(&line);
            assert_ne!(read, 0, "no {wanted:?} in {}", self.heard);
            said.push_str(&line);
            if line.contains(wanted) {
                return said;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("is there");
    }

    /// The exit code, and what was said to the end.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("text");
        (self.child.wait().expect("ends").code(), said)
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
