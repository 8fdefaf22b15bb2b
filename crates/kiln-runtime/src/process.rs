//! Child processes: started, fed, listened to, and never left behind.
//!
//! One loop waits for everything at once, so that no amount of input or output makes it and the child wait for each
//! other. The child leads a process group of its own; when its time is up, when it writes too much or when the caller
//! gives up, the group is killed with everything else that descends from the child. Whatever happens, the child has been
//! waited for when [`run`] returns.
//!
//! Deliberately absent: shells and pseudo-terminals.

mod kill;
mod lookup;
mod pump;
mod registry;
mod watch;

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kiln_sandbox::{Cell, Sandbox, SandboxError, Started};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::context::{Limits, RunContext};
use crate::outcome::{ExecProblem, RunError, StartError, exit_text};

/// A program and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// A name to be searched for, or a path if it has a slash.
    pub name: &'a str,
    /// What follows the name.
    pub arguments: &'a [String],
    /// `$PATH`: where names are searched for.
    pub search_path: &'a OsStr,
    /// What happens to it when it has to end before its time.
    pub ending: Ending,
    /// What it is kept in, if in anything.
    pub sandbox: Option<&'a Sandbox>,
}

/// How a program is made to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// It is killed at once.
    #[default]
    Killed,
    /// It is interrupted and killed a little later: it stands for something elsewhere that it has to end itself.
    Asked,
}

/// A child that came to its end.
#[derive(Debug)]
pub struct Finished {
    /// Zero for success, -1 if a signal killed it.
    pub exit_code: i32,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// From its start to its end.
    pub elapsed: Duration,
}

impl Finished {
    /// How it ended, in Go's words: `exit status 7`, `signal: killed`.
    pub fn exit_text(&self) -> String {
        exit_text(self.exit_code, self.signal)
    }
}

/// Runs a program to its end, with `input` on its standard input. Without a sandbox it has the caller's environment and
/// directory; with one it has those of the sandbox, and none of its processes outlives it.
///
/// A child that does not read its input is fine. One that leaves processes behind which keep its output open is waited
/// for as long as they write; a second after they have fallen silent they are killed.
pub fn run(program: Program<'_>, input: &[u8], ctx: &RunContext) -> Result<Finished, RunError> {
    if ctx.cancel.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    let started = Instant::now();
    let mut running = Running::start(program, ctx.limits)?;
    let printed = pump::pump(&mut running, program.ending, input, ctx);
    let status = running.finish(printed.is_ok())?;
    let printed = printed?;
    if status.signal() == Some(Signal::KILL.as_raw())
        && let Some(excess) = running.cell.as_ref().and_then(Cell::excess_at_end)
    {
        return Err(RunError::OverLimit(excess));
    }
    Ok(Finished {
        exit_code: status.code().unwrap_or(-1),
        signal: status.signal(),
        stdout: printed.stdout,
        stderr: printed.stderr,
        elapsed: started.elapsed(),
    })
}

/// Makes this process the parent of all whose own parents end, so that a function that has to be killed takes even its
/// daemons with it. For programs that run functions and end; one that stays would collect the dead of others. Where the
/// system has no such thing, nothing is done.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // A system that refuses leaves us with the descendants that can be seen.
        let us = rustix::process::getpid();
        let _ = rustix::process::set_child_subreaper(Some(us));
    }
}

/// Kills everything that [`run`] is running, in whatever thread, and lets nothing start any more. For programs that are
/// about to end.
pub fn kill_running() {
    registry::close();
}

/// Waits for orphans that were adopted and have ended. For programs that stay, while they run nothing: it would take
/// the end of a running child from the one who waits for it.
pub fn bury_orphans() {
    use rustix::process::{WaitOptions, wait};
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// A child that is killed and waited for when it is dropped.
struct Running {
    id: Pid,
    stdin: Option<PipeWriter>,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    waited: bool,
    /// Dropped after the child has been waited for, which gives the private directory back.
    cell: Option<Cell>,
}

impl Running {
    fn start(program: Program<'_>, limits: Limits) -> Result<Running, RunError> {
        let path = lookup::find(program.name, program.search_path)?;
        let not_started = |error: &io::Error| {
            RunError::NotStarted(StartError::ForkExec {
                program: path.to_string_lossy().into_owned(),
                problem: ExecProblem::of(error),
                reason: kiln_go::errno_text(error),
            })
        };
        let running = match program.sandbox {
            None => {
                registry::start(|| start_free(&path, program).map_err(|error| not_started(&error)))
                    .map(|started| started.map(|started| Running::new(started, None)))
            }
            Some(sandbox) => {
                // The child starts in another directory.
                let absolute = std::path::absolute(&path).map_err(|error| not_started(&error))?;
                let cell = sandbox
                    .cell(&absolute, limits.memory)
                    .map_err(unavailable)?;
                registry::start(|| {
                    let started = cell.start(&absolute, program.name, program.arguments);
                    started.map_err(|error| match error {
                        kiln_sandbox::StartError::Program(error) => not_started(&error),
                        kiln_sandbox::StartError::Sandbox(error) => unavailable(error),
                    })
                })
                .map(|started| started.map(|started| Running::new(started, Some(cell))))
            }
        };
        let running = running?.ok_or(RunError::Cancelled)?;
        // The sandbox has seen to it already.
        if running.cell.is_none() {
            limit_memory(running.id, limits)?;
        }
        Ok(running)
    }

    fn new(started: Started, cell: Option<Cell>) -> Running {
        Running {
            id: started.id,
            stdin: Some(started.stdin),
            stdout: Some(started.stdout),
            stderr: Some(started.stderr),
            waited: false,
            cell,
        }
    }

    /// Waits for the child, which has ended unless it is to be killed.
    fn finish(&mut self, ended: bool) -> Result<ExitStatus, RunError> {
        if !ended {
            kill::kill_all(self.id);
        }
        self.wait().map_err(|errno| RunError::Io {
            doing: "wait for the function",
            source: errno.into(),
        })
    }

    fn wait(&mut self) -> Result<ExitStatus, Errno> {
        self.waited = true;
        if let Some(cell) = &self.cell {
            kill::kill_rest(self.id);
            cell.kill();
        }
        registry::forget(self.id);
        let ended = loop {
            match waitpid(Some(self.id), WaitOptions::empty()) {
                Err(Errno::INTR) => {}
                ended => break ended,
            }
        };
        if self.cell.is_some() {
            kill::bury_rest(self.id);
        }
        let (_, status) = ended?.ok_or(Errno::CHILD)?;
        Ok(ExitStatus::from_raw(status.as_raw()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.waited {
            kill::kill_all(self.id);
            // There is nobody to tell, and nothing more to do.
            let _ = self.wait();
        }
    }
}

/// Starts a program with nothing to keep it in.
fn start_free(path: &Path, program: Program<'_>) -> io::Result<Started> {
    let mut child = Command::new(path)
        .arg0(program.name)
        .args(program.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let id = Pid::from_child(&child);
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Started {
            id,
            stdin: OwnedFd::from(stdin).into(),
            stdout: OwnedFd::from(stdout).into(),
            stderr: OwnedFd::from(stderr).into(),
        }),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

fn unavailable(error: SandboxError) -> RunError {
    RunError::Unavailable(Box::new(error))
}

/// Limits the memory of a child that has just started. `RLIMIT_DATA` and not `RLIMIT_AS`: Go and Java programs reserve
/// far more addresses than they ever use.
#[cfg(target_os = "linux")]
fn limit_memory(child: Pid, limits: Limits) -> Result<(), RunError> {
    use rustix::process::{Resource, Rlimit, prlimit};
    let Some(memory) = limits.memory else {
        return Ok(());
    };
    let limit = Rlimit {
        current: Some(memory),
        maximum: Some(memory),
    };
    match prlimit(Some(child), Resource::Data, limit) {
        // It has ended already.
        Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(RunError::Io {
            doing: "limit the memory of the function",
            source: errno.into(),
        }),
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: Pid, limits: Limits) -> Result<(), RunError> {
    match limits.memory {
        None => Ok(()),
        Some(_) => Err(RunError::Io {
            doing: "limit the memory of the function",
            source: io::ErrorKind::Unsupported.into(),
        }),
    }
}
