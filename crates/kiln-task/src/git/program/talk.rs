//! Commands of git that talk to another machine, which may never answer.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::{GitError, GitProgram};

/// How long git has to clean up once it is told to stop.
const GRACE: Duration = Duration::from_secs(5);

impl GitProgram {
    /// Runs a command to whatever end, but not for ever. The lock is its input, which it does not read: whoever waits for the
    /// lock waits for git as well, even if we are killed and it is not.
    pub(in crate::git) fn talk(
        &self,
        command: &'static str,
        arguments: &[&OsStr],
        lock: &File,
    ) -> Result<Output, GitError> {
        let broken = |error| GitError::Broken { command, error };
        let lock = lock.try_clone().map_err(broken)?;
        let mut process = self.command(command, arguments);
        process
            .stdin(lock)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process.spawn().map_err(GitError::NotStarted)?;
        let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let end = self.patience.map(|patience| Instant::now() + patience);
        let heard = heard(&stdout, end).and_then(|stdout| Some((stdout, heard(&stderr, end)?)));
        if let Some((stdout, stderr)) = heard {
            let status = child.wait().map_err(broken)?;
            return Ok(Output {
                status,
                stdout,
                stderr,
            });
        }
        stop(&mut child, &stderr);
        Err(GitError::TimedOut {
            command,
            patience: self.patience.unwrap_or_default(),
        })
    }
}

/// Reads to the end on a thread of its own. Who does not wait for it leaves it behind, with the helpers of git that may have
/// the other end of the pipe.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is all there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// All that was read, unless it takes too long.
fn heard(receiver: &Receiver<Vec<u8>>, end: Option<Instant>) -> Option<Vec<u8>> {
    match end {
        Some(end) => {
            let left = end.saturating_duration_since(Instant::now());
            receiver.recv_timeout(left).ok()
        }
        None => receiver.recv().ok(),
    }
}

/// Asks git to stop, so that it removes its locks, and then makes it. Its helpers do not notice that it is gone while they wait
/// for an answer, so they are asked as well.
fn stop(child: &mut Child, stderr: &Receiver<Vec<u8>>) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};

        let git = Pid::from_child(child);
        let helpers = descendants(git.as_raw_nonzero().get());
        let helpers = helpers.into_iter().filter_map(Pid::from_raw);
        for pid in std::iter::once(git).chain(helpers) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = stderr.recv_timeout(GRACE);
    }
    #[cfg(not(unix))]
    let _ = (stderr, GRACE);
    let _ = child.kill();
    let _ = child.wait();
}

/// The processes that a process has started, and those that they have. Where the system does not list them there are none.
#[cfg(unix)]
fn descendants(process: i32) -> Vec<i32> {
    let all = kiln_sandbox::processes();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = all.iter().filter(|other| other.parent == parent);
        found.extend(children.map(|child| child.id));
        next += 1;
    }
    found.split_off(1)
}
