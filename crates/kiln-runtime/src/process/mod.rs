//! Child processes: starts them, writes their input, reads their output, and never leaves one behind.
//!
//! One loop waits for everything at once, so that no amount of input or output makes it and the child wait for each
//! other. The child leads its own process group; on timeout, on too much output or on cancellation the group is killed
//! with all other descendants of the child. When [`run`], [`run_file`] or [`run_image`] returns, the child has always been waited for.
//!
//! Deliberately absent: shells and pseudo-terminals.

mod confined;
mod kill;
mod lookup;
mod pump;
mod registry;
mod watch;

pub use lookup::find;

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kiln_sandbox::{ImageProcess, ImageSandbox, Sandbox, SandboxError, StartedProcess};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::context::{Limits, RunContext};
use crate::outcome::{ExecProblem, Outcome, Output, RunError, StartError, exit_text};
use confined::ConfinedRun;

/// A program and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// A name to search for, or a path if it has a slash.
    pub name: &'a str,
    pub arguments: &'a [String],
    /// `$PATH`: the directories to search.
    pub search_path: &'a OsStr,
    /// How to stop it early.
    pub stop_signal: StopSignal,
    /// Runs the program as the user if not given.
    pub sandbox: Option<&'a Sandbox>,
    /// The program's variables, instead of those of the caller or of the sandbox.
    pub environment: Option<&'a [(OsString, OsString)]>,
}

/// How to stop a program early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StopSignal {
    /// `SIGKILL` at once.
    #[default]
    Kill,
    /// `SIGINT`, and `SIGKILL` a little later: the program runs something elsewhere that it has to stop itself.
    Interrupt,
}

/// A child that has exited.
#[derive(Debug)]
pub struct FinishedProcess {
    /// Zero for success, -1 if a signal killed it.
    pub exit_code: i32,
    pub signal: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub elapsed: Duration,
}

impl From<FinishedProcess> for Outcome {
    fn from(finished: FinishedProcess) -> Outcome {
        Outcome {
            exit_code: finished.exit_code,
            signal: finished.signal,
            output: Output::Wire(finished.stdout.into()),
            stderr: finished.stderr,
            elapsed: finished.elapsed,
            identity: None,
            is_cached: false,
        }
    }
}

impl FinishedProcess {
    /// The exit in Go's words: `exit status 7`, `signal: killed`.
    pub fn exit_text(&self) -> String {
        exit_text(self.exit_code, self.signal)
    }
}

/// Runs a program to its end, with `input` on its standard input. Without a sandbox it has the caller's directory, and its
/// environment unless the program has one; with one it has those of the sandbox, and none of its processes outlives it.
///
/// A child need not read its input. If a child leaves processes behind that keep its output open, `run` waits as long
/// as they write; after a second without output they are killed.
pub fn run(
    program: Program<'_>,
    input: &[u8],
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    let start = || {
        let path = lookup::find(program.name, program.search_path)?;
        RunningChild::start(&path, program, ctx.limits)
    };
    run_child(start, program.stop_signal, input, ctx)
}

/// Runs the program in a file, as [`run`] does. Nothing is searched for: `program.name` is only what the program sees as its
/// own name.
pub fn run_file(
    file: &Path,
    program: Program<'_>,
    input: &[u8],
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    let start = || RunningChild::start(file, program, ctx.limits);
    run_child(start, program.stop_signal, input, ctx)
}

/// Runs a program of an image to its end, with `input` on its standard input. None of its processes outlives it.
pub fn run_image(
    sandbox: &ImageSandbox,
    process: &ImageProcess,
    input: &[u8],
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    let start = || RunningChild::start_image(sandbox, process, ctx.limits);
    run_child(start, StopSignal::Kill, input, ctx)
}

fn run_child<'a>(
    start: impl FnOnce() -> Result<RunningChild<'a>, RunError>,
    stop_signal: StopSignal,
    input: &[u8],
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    if ctx.cancel.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    let started = Instant::now();
    let mut running = start()?;
    let printed = pump::pump(&mut running, stop_signal, input, ctx);
    let status = running.finish(printed.is_ok())?;
    let printed = printed?;
    if status.signal() == Some(Signal::KILL.as_raw())
        && let Some(excess) = running
            .confined_run
            .as_ref()
            .and_then(ConfinedRun::excess_at_end)
    {
        ctx.stopped_stderr.set(printed.stderr);
        return Err(RunError::OverLimit(excess));
    }
    Ok(FinishedProcess {
        exit_code: status.code().unwrap_or(-1),
        signal: status.signal(),
        stdout: printed.stdout,
        stderr: printed.stderr,
        elapsed: started.elapsed(),
    })
}

/// Makes this process the parent of orphaned descendants, so that killing a function also kills its daemons. For
/// programs that run functions and exit; a long-running one would collect the zombies of other processes. Does nothing
/// where the system has no such feature.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Without it, only the descendants that can be seen are killed.
        let us = rustix::process::getpid();
        let _ = rustix::process::set_child_subreaper(Some(us));
    }
}

/// Kills everything that [`run`] is running, in any thread, and starts nothing any more. For programs that are about to
/// exit.
pub fn kill_running() {
    registry::close();
}

/// Waits for adopted orphans that have exited. For long-running programs, while they run no function: it would take the
/// exit status of a running child from the thread that waits for it.
pub fn reap_orphans() {
    use rustix::process::{WaitOptions, wait};
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// A child that is killed and waited for when it is dropped.
struct RunningChild<'a> {
    id: Pid,
    stdin: Option<PipeWriter>,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    waited: bool,
    /// Dropped after the child has been waited for, which returns the private directory.
    confined_run: Option<ConfinedRun<'a>>,
}

impl<'a> RunningChild<'a> {
    fn start(
        path: &Path,
        program: Program<'_>,
        limits: Limits,
    ) -> Result<RunningChild<'a>, RunError> {
        let not_started = |error: &io::Error| not_started(path, error);
        let running = match program.sandbox {
            None => {
                // A sandbox does this itself.
                kiln_sandbox::close_descriptors_on_exec().map_err(|source| RunError::Io {
                    doing: "close open files on exec",
                    source,
                })?;
                registry::start(|| start_free(path, program).map_err(|error| not_started(&error)))
                    .map(|started| started.map(|started| RunningChild::new(started, None)))
            }
            Some(sandbox) => {
                // The child starts in another directory.
                let absolute = std::path::absolute(path).map_err(|error| not_started(&error))?;
                let mut sandbox_run = sandbox
                    .prepare_run(&absolute, limits.memory)
                    .map_err(unavailable)?;
                if let Some(environment) = program.environment {
                    sandbox_run = sandbox_run.with_environment(environment);
                }
                registry::start(|| {
                    let started = sandbox_run.start(&absolute, program.name, program.arguments);
                    started.map_err(|error| start_error(path, error))
                })
                .map(|started| {
                    let confined_run = ConfinedRun::Executable(sandbox_run);
                    started.map(|started| RunningChild::new(started, Some(confined_run)))
                })
            }
        };
        let running = running?.ok_or(RunError::Cancelled)?;
        // The sandbox has limited it already.
        if running.confined_run.is_none() {
            limit_memory(running.id, limits)?;
        }
        Ok(running)
    }

    fn start_image(
        sandbox: &'a ImageSandbox,
        process: &'a ImageProcess,
        limits: Limits,
    ) -> Result<RunningChild<'a>, RunError> {
        let image_run = sandbox
            .prepare_run(process, limits.memory)
            .map_err(unavailable)?;
        let started = registry::start(|| {
            let started = image_run.start();
            started.map_err(|error| start_error(&process.program, error))
        })?;
        let started = started.ok_or(RunError::Cancelled)?;
        Ok(RunningChild::new(
            started,
            Some(ConfinedRun::Image(image_run)),
        ))
    }

    fn new(started: StartedProcess, confined_run: Option<ConfinedRun<'a>>) -> RunningChild<'a> {
        RunningChild {
            id: started.id,
            stdin: Some(started.stdin),
            stdout: Some(started.stdout),
            stderr: Some(started.stderr),
            waited: false,
            confined_run,
        }
    }

    /// Waits for the child, which has exited unless it is to be killed.
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
        if let Some(confined_run) = &self.confined_run {
            kill::kill_rest(self.id);
            confined_run.kill();
        }
        registry::forget(self.id);
        let ended = loop {
            match waitpid(Some(self.id), WaitOptions::empty()) {
                Err(Errno::INTR) => {}
                ended => break ended,
            }
        };
        if self.confined_run.is_some() {
            kill::reap_group(self.id);
        }
        let (_, status) = ended?.ok_or(Errno::CHILD)?;
        Ok(ExitStatus::from_raw(status.as_raw()))
    }
}

impl Drop for RunningChild<'_> {
    fn drop(&mut self) {
        if !self.waited {
            kill::kill_all(self.id);
            // An error cannot be returned from here.
            let _ = self.wait();
        }
    }
}

/// Starts a program without a sandbox.
fn start_free(path: &Path, program: Program<'_>) -> io::Result<StartedProcess> {
    let mut command = Command::new(path);
    if let Some(environment) = program.environment {
        let variables = environment.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(variables);
    }
    let mut child = command
        .arg0(program.name)
        .args(program.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let id = Pid::from_child(&child);
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(StartedProcess {
            id,
            stdin: OwnedFd::from(stdin).into(),
            stdout: OwnedFd::from(stdout).into(),
            stderr: OwnedFd::from(stderr).into(),
        }),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

fn not_started(program: &Path, error: &io::Error) -> RunError {
    RunError::NotStarted(StartError::ForkExec {
        program: program.to_string_lossy().into_owned(),
        problem: ExecProblem::of(error),
        reason: kiln_go::errno_text(error),
    })
}

fn start_error(program: &Path, error: kiln_sandbox::StartError) -> RunError {
    match error {
        kiln_sandbox::StartError::Program(error) => not_started(program, &error),
        kiln_sandbox::StartError::Sandbox(error) => unavailable(error),
    }
}

fn unavailable(error: SandboxError) -> RunError {
    RunError::Unavailable(Box::new(error))
}

/// Limits the memory of a child that has just started. `RLIMIT_DATA` and not `RLIMIT_AS`: Go and Java programs reserve
/// far more addresses than they use.
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
        // It has exited already.
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
