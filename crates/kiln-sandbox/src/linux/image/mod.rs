//! Isolates programs of unpacked images in namespaces.
//!
//! A run has its own user, mount, process, network, IPC, host name and control group namespaces. Its root is the image,
//! read-only, with its own `/dev` and `/proc` and directories in memory. Nothing is left on disk. The program is the first
//! process of its namespace: when it ends or is killed, the kernel kills all others.
//!
//! As root, each run is a user that nothing else uses; otherwise it is our user, without capabilities, on files that it
//! cannot change.

mod mounts;
mod paths;
mod plan;
mod prepare;
mod probe;
mod user;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};
use seccompiler::BpfProgram;

use super::control_groups::{ControlGroup, ControlGroups, Delegated};
use super::filter::FilteredFunction;
use super::parent_watch::{self, GroupEntry};
use super::spawn::{self, ProcessStart, StartedProcess};
use super::step::ConfineStep;
use super::support::Support;
use super::watch::{Bounds, Members};
use super::{file_rules, filter, new_group, rlimits};
use crate::image::{
    ImageNetwork, ImagePolicy, ImageProcess, IsolationLevel, IsolationStep, LevelProbe, RefusedStep,
};
use crate::measure::{Excess, SandboxError, StartError};
use mounts::ProcKind;
use plan::{ImageConfinement, ImagePlan};
use prepare::inside;
use user::OutsideUsers;

/// Isolates the functions of images. One serves any number of concurrent runs.
pub struct ImageSandbox {
    policy: ImagePolicy,
    support: Support,
    users: OutsideUsers,
    filter: Arc<BpfProgram>,
    filter_of_network: Arc<BpfProgram>,
    control_groups: Result<ControlGroups, String>,
    /// A descriptor of this process.
    ourselves: Arc<OwnedFd>,
    /// Whether the kernel has refused a new `/proc`: it does in containers that hide parts of theirs.
    needs_outer_proc: AtomicBool,
}

/// How often to start a program that is open for writing. It was unpacked just now by this process, and a child that
/// another thread starts has a copy of that file until it executes its own program.
const BUSY_ATTEMPTS: usize = 200;

impl ImageSandbox {
    /// Prepares what all runs share. Whether this system lets us isolate functions shows in the first run, or in
    /// [`ImageSandbox::probe`].
    pub fn new(policy: ImagePolicy) -> Result<ImageSandbox, SandboxError> {
        let support = Support::probe();
        if !support.seccomp {
            let reason = "the kernel does not filter system calls, or not on this architecture";
            let reason = reason.to_owned();
            return Err(SandboxError::Unsupported { reason });
        }
        let compile = |network| {
            let compiled = filter::compile(&support, FilteredFunction::Image(network));
            compiled.map(Arc::new)
        };
        // As early as possible: it is a copy of this process, and keeps its memory.
        parent_watch::ensure();
        let ourselves = pidfd_open(getpid(), PidfdFlags::empty());
        // Since Linux 5.3.
        let ourselves = ourselves.map_err(|errno| {
            SandboxError::Isolate(RefusedStep {
                step: IsolationStep::Other,
                doing: "open this process",
                source: errno.into(),
            })
        })?;
        Ok(ImageSandbox {
            users: OutsideUsers::choose(),
            filter: compile(ImageNetwork::Loopback)?,
            filter_of_network: compile(ImageNetwork::Host)?,
            control_groups: Delegated::find(&policy.control_group).and_then(Delegated::prepare),
            ourselves: Arc::new(ourselves),
            needs_outer_proc: AtomicBool::new(false),
            support,
            policy,
        })
    }

    /// Tries each level on this system, from the strongest, by the very steps of a run: each when the iterator comes to
    /// it. `temporary` is a directory for the root of the attempts.
    pub fn probe(temporary: &Path) -> impl Iterator<Item = LevelProbe> {
        probe::try_levels(temporary)
    }

    /// The level of the runs so far: without a run, the strongest.
    pub fn level(&self) -> IsolationLevel {
        match self.proc_kind() {
            ProcKind::Own => IsolationLevel::Namespaces,
            ProcKind::Outer => IsolationLevel::NamespacesWithOuterProc,
        }
    }

    fn proc_kind(&self) -> ProcKind {
        match self.needs_outer_proc.load(Ordering::Relaxed) {
            false => ProcKind::Own,
            true => ProcKind::Outer,
        }
    }

    /// Prepares one run. `memory` overrides the policy's limit.
    pub fn prepare_run<'a>(
        &'a self,
        process: &'a ImageProcess,
        memory: Option<u64>,
    ) -> Result<ImageRun<'a>, SandboxError> {
        prepare::check_paths(process)?;
        let mut limits = self.policy.limits;
        limits.memory = memory.unwrap_or(limits.memory);
        let user = self.users.take(process.user, process.rights);
        let owner = user.own;
        // The kernel counts the processes of a user in each user namespace since Linux 5.14; older ones would count all
        // processes of our user.
        let is_counted = owner.is_some() || self.support.counts_by_namespace;
        let plan = ImagePlan {
            parent: Arc::clone(&self.ourselves),
            was_dumpable: self.support.is_dumpable,
            network: process.network,
            directory: inside(&process.directory)?,
            program: inside(&process.program)?,
            rlimits: rlimits(&limits, is_counted.then_some(limits.processes)),
            rules: file_rules::of_root()?,
            filter: Arc::clone(match process.network {
                ImageNetwork::Loopback => &self.filter,
                ImageNetwork::Host => &self.filter_of_network,
            }),
            group_entry: GroupEntry::take(),
            group: new_group(&self.control_groups, &limits)?,
            user,
        };
        Ok(ImageRun {
            sandbox: self,
            process,
            plan,
            bounds: Bounds {
                limits,
                owner,
                members: Members::Descendants,
                socket_buffer: self.support.socket_buffer,
            },
        })
    }
}

impl fmt::Debug for ImageSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ImageSandbox");
        shown.field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// One isolated run.
pub struct ImageRun<'a> {
    sandbox: &'a ImageSandbox,
    process: &'a ImageProcess,
    plan: ImagePlan,
    bounds: Bounds,
}

impl ImageRun<'_> {
    /// Starts the program, as the first process of its namespace. One program at a time.
    ///
    /// If the kernel refuses a new `/proc`, this run and those after it use the outer one.
    pub fn start(&self) -> Result<StartedProcess, StartError> {
        let program = Some(&*self.process.program);
        let proc = self.sandbox.proc_kind();
        let mut started = self.start_with(program, proc);
        for _ in 0..BUSY_ATTEMPTS {
            match &started {
                Err(StartError::Program(error))
                    if error.kind() == io::ErrorKind::ExecutableFileBusy =>
                {
                    started = self.start_with(program, proc);
                }
                _ => break,
            }
        }
        match &started {
            Err(error) if proc == ProcKind::Own && is_refused_proc(error) => {
                let started = self.start_with(program, ProcKind::Outer);
                if started.is_ok() {
                    self.sandbox.needs_outer_proc.store(true, Ordering::Relaxed);
                }
                started
            }
            _ => started,
        }
    }

    /// Starts a program, or nothing: then the child exits once it is isolated.
    fn start_with(
        &self,
        program: Option<&Path>,
        proc: ProcKind,
    ) -> Result<StartedProcess, StartError> {
        let words = self.process.words.iter();
        let start = ProcessStart {
            program,
            words: words.map(|word| word.as_os_str()).collect(),
            environment: &self.process.environment,
            owner: self.plan.user.own,
        };
        // New for each attempt: the kernel attaches a mount that we made only once.
        let is_other_user = self.plan.user.own.is_some();
        let mounts = prepare::mounts(self.process, is_other_user, self.bounds.limits.file_size)
            .map_err(StartError::Sandbox)?;
        let confinement = ImageConfinement::new(&self.plan, mounts, proc);
        spawn::start(&start, &confinement).map_err(|error| match ConfineStep::of(&error) {
            None => StartError::Program(error),
            Some((step, source)) => StartError::Sandbox(refused(step, source)),
        })
    }

    /// Which limit the processes of the function exceed together. `leader` is its first process.
    pub fn excess(&self, leader: Pid) -> Option<Excess> {
        self.bounds.excess(leader, self.plan.group.as_ref())
    }

    /// The limit for which the kernel has killed the processes, as far as it reports that.
    pub fn excess_at_end(&self) -> Option<Excess> {
        self.bounds.excess_at_end(self.plan.group.as_ref())
    }

    /// Kills all remaining processes, as far as they can be found without the ID of the first one.
    pub fn kill(&self) {
        if let Some(group) = &self.plan.group {
            ControlGroup::kill(group);
        }
    }
}

fn refused(step: ConfineStep, source: io::Error) -> SandboxError {
    let doing = step.doing();
    match step.of_system() {
        Some(step) => SandboxError::Isolate(RefusedStep {
            step,
            doing,
            source,
        }),
        None => SandboxError::Confine { doing, source },
    }
}

fn is_refused_proc(error: &StartError) -> bool {
    let StartError::Sandbox(SandboxError::Isolate(refused)) = error else {
        return false;
    };
    matches!(refused.step, IsolationStep::Proc)
}
