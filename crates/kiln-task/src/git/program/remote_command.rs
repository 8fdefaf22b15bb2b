//! Git commands that talk to a remote, which may never respond.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::{GitError, GitProgram, NoResponse, kill, without_credentials};

/// How long git has to clean up after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

impl GitProgram {
    /// Runs a command that may fail, within the timeout. The lock is passed as its standard input, which it does not read: if
    /// kiln is killed and git is not, the lock stays held until git ends.
    pub(in crate::git) fn run_remote(
        &self,
        command: &'static str,
        arguments: &[&OsStr],
        lock: &File,
    ) -> Result<Output, GitError> {
        let pipe_error = |error| GitError::Pipe { command, error };
        let _observed = self.observe(command);
        let lock = lock.try_clone().map_err(pipe_error)?;
        let mut process = self.command(command, arguments);
        process
            .stdin(lock)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process.spawn().map_err(|error| self.not_started(error))?;
        let readers = collect(child.stdout.take())
            .and_then(|stdout| Ok((stdout, collect(child.stderr.take())?)));
        let (stdout, stderr) = match readers {
            Ok(readers) => readers,
            Err(error) => {
                kill(&mut child);
                return Err(pipe_error(error));
            }
        };
        let end = self.timeout.map(|timeout| Instant::now() + timeout);
        let output = receive(&stdout, end).and_then(|out| Some((out, receive(&stderr, end)?)));
        if let Some((stdout, stderr)) = output {
            let status = child.wait().map_err(pipe_error)?;
            return Ok(Output {
                status,
                stdout,
                stderr,
            });
        }
        stop(&mut child, &stderr);
        Err(GitError::TimedOut {
            command,
            timeout: self.timeout.unwrap_or_default(),
            cause: NoResponse,
        })
    }
}

impl GitProgram {
    /// Notifies the observer of a command until the returned value is dropped.
    fn observe(&self, command: &'static str) -> Option<Box<dyn Send>> {
        let mut config = self.config.iter();
        let address = config.find(|(key, _)| key == "remote.origin.url");
        let address = address.map_or("", |(_, value)| value.as_str());
        let observer = self.observer.as_ref()?;
        Some(observer.begin(command, without_credentials(address)))
    }
}

/// Reads to the end on a thread of its own. After a timeout the thread is left behind, because helpers of git may keep the
/// other end of the pipe open.
fn collect(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = channel();
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // After an error, the bytes read so far are the output.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    })?;
    Ok(receiver)
}

/// The collected output; `None` after the end of the timeout.
fn receive(receiver: &Receiver<Vec<u8>>, end: Option<Instant>) -> Option<Vec<u8>> {
    match end {
        Some(end) => {
            let left = end.saturating_duration_since(Instant::now());
            receiver.recv_timeout(left).ok()
        }
        None => receiver.recv().ok(),
    }
}

/// Stops git with SIGTERM, so that it removes its locks, and then kills it. Its helpers get SIGTERM as well: while they wait for
/// the remote, they do not notice that git has ended.
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
    kill(child);
}

/// The descendants of a process; empty on systems that do not list processes.
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
