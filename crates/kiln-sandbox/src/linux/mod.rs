//! The sandbox on Linux. Executables get Landlock for files and signals, seccomp for the network and the kernel, resource
//! limits, and where permitted, a separate user for each function.
//!
//! Executables have no namespaces: creating and destroying one for the network alone costs about as much as everything
//! here, few containers allow them, and everything that they would hide is unreachable already. Programs of images need
//! them, because their files have to be at the paths that the image has ([`image`]).

mod access;
mod child;
mod cleanup;
mod commands;
mod confine;
mod control_groups;
mod file_rules;
mod file_user;
mod filter;
mod homes;
mod identity;
mod image;
mod kernel;
mod mask;
mod parent_watch;
mod program;
mod scratch;
mod spawn;
mod step;
mod support;
mod syscalls;
mod thread_user;
mod watch;

use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit};
use seccompiler::BpfProgram;

use crate::environment::{ALLOWED_VARIABLES, HostEnvironment, NETWORK_VARIABLES, cleaned};
use crate::measure::{Excess, Measure, SandboxError, StartError};
use crate::policy::{SandboxLimits, SandboxPolicy};

pub use confine::{confine_worker, lower_priority};
pub use image::{ImageRun, ImageSandbox};
pub(crate) use kernel::close_all_descriptors_on_exec;
pub(crate) use parent_watch::watcher;
pub use spawn::StartedProcess;

use child::Plan;
use control_groups::{ControlGroup, ControlGroups, Delegated};
use file_rules::{AllowedPath, FileRules};
use filter::{FilteredFunction, Owners};
use homes::Homes;
use identity::{Identity, ProgramAccess, Users};
use parent_watch::GroupEntry;
use scratch::{Scratch, ScratchRoot};
use spawn::ProcessStart;
use step::ConfineStep;
use support::Support;
use watch::{Bounds, Members};

/// A sandbox for functions. One serves any number of concurrent runs.
pub struct Sandbox {
    policy: SandboxPolicy,
    support: Support,
    environment: Vec<(OsString, OsString)>,
    homes: Homes,
    filter: Arc<BpfProgram>,
    /// For functions that have rights on our files.
    filter_of_owners: Arc<BpfProgram>,
    file_rules: FileRules,
    scratch: ScratchRoot,
    /// Where the groups of runs are made, or why there are none.
    control_groups: Result<ControlGroups, String>,
}

impl Sandbox {
    /// The measures of a sandbox with the default policy on this system.
    pub fn probe() -> Vec<Measure> {
        let policy = SandboxPolicy::default();
        let delegated = Delegated::find(&policy.control_group);
        let path = delegated.as_ref().map(Delegated::path);
        support::measures(&Support::probe(), &policy, path.map_err(String::as_str))
    }

    /// Makes a sandbox, or returns what the system lacks. Removes private directories that killed programs left behind.
    pub fn new(
        policy: SandboxPolicy,
        surroundings: HostEnvironment,
    ) -> Result<Sandbox, SandboxError> {
        let support = Support::probe();
        support.check()?;
        let users = support.own_users.then(Users::choose);
        let mut allowed = ALLOWED_VARIABLES.to_vec();
        if policy.allow_network {
            allowed.extend(NETWORK_VARIABLES);
        }
        let allow_network = policy.allow_network;
        let compile = |owners| {
            let function = FilteredFunction::Executable {
                allow_network,
                owners,
            };
            filter::compile(&support, function).map(Arc::new)
        };
        let homes = Homes::find(&surroundings.environment);
        // As early as possible: it is a copy of this process, and keeps its memory.
        parent_watch::ensure();
        let delegated = Delegated::find(&policy.control_group);
        Ok(Sandbox {
            environment: cleaned(surroundings.environment, &allowed, &policy.variables),
            filter: compile(Owners::Others)?,
            filter_of_owners: compile(Owners::Same)?,
            file_rules: FileRules::open(&policy.read, &homes)?,
            homes,
            scratch: ScratchRoot::new(&surroundings.temporary, users)?,
            control_groups: delegated.and_then(Delegated::prepare),
            support,
            policy,
        })
    }

    pub fn measures(&self) -> Vec<Measure> {
        let path = self.control_groups.as_ref().map(ControlGroups::path);
        support::measures(&self.support, &self.policy, path.map_err(String::as_str))
    }

    /// Prepares one run of `program`. `memory` overrides the policy's limit.
    pub fn prepare_run(
        &self,
        program: &Path,
        memory: Option<u64>,
    ) -> Result<SandboxRun, SandboxError> {
        let scratch = self.scratch.take()?;
        let program_paths = file_rules::of_program(program, &self.homes);
        let identity = match scratch.owner() {
            None => Identity::Same,
            Some(user) => Identity::Other(user, self.program_access(program, &program_paths)),
        };
        let ruleset =
            self.file_rules
                .ruleset(&program_paths, scratch.path(), self.policy.allow_network)?;
        let mut limits = self.policy.limits;
        limits.memory = memory.unwrap_or(limits.memory);
        let directory = CString::new(scratch.path().as_os_str().as_bytes());
        let directory = directory.map_err(|error| SandboxError::Scratch {
            path: scratch.path().to_owned(),
            source: error.into(),
        })?;
        // With a shared user, processes of others would count too.
        let processes = matches!(identity, Identity::Other(..)).then_some(limits.processes);
        let plan = Plan {
            parent: getpid(),
            directory,
            was_dumpable: self.support.is_dumpable,
            identity,
            rlimits: rlimits(&limits, processes),
            ruleset,
            filter: Arc::clone(match identity.shares_our_files() {
                true => &self.filter_of_owners,
                false => &self.filter,
            }),
            group_entry: GroupEntry::take(),
            group: new_group(&self.control_groups, &limits)?,
        };
        let mut environment = self.environment.clone();
        let home = scratch.path().as_os_str().to_owned();
        environment.push(("HOME".into(), home.clone()));
        environment.push(("TMPDIR".into(), home));
        Ok(SandboxRun {
            plan,
            environment,
            bounds: Bounds {
                limits,
                owner: scratch.owner(),
                members: Members::Group,
                socket_buffer: self.support.socket_buffer,
            },
            scratch,
        })
    }

    /// What another user needs to start a program and to read the allowed files.
    fn program_access(&self, program: &Path, paths: &[AllowedPath]) -> ProgramAccess {
        let read = paths.iter().map(|(path, _)| path);
        let read = read.chain(&self.policy.read).map(PathBuf::as_path);
        let read = read.chain([program]);
        let is_open =
            || access::is_world_readable(read) && access::is_world_searchable(self.scratch.path());
        match access::is_world_executable(program) {
            false => ProgramAccess::NotExecutable,
            true if is_open() => ProgramAccess::Public,
            true => ProgramAccess::Restricted,
        }
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Sandbox");
        shown.field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The sandbox of one run. Dropping it removes the private directory, so all processes must be dead by then.
pub struct SandboxRun {
    plan: Plan,
    environment: Vec<(OsString, OsString)>,
    bounds: Bounds,
    scratch: Scratch,
}

impl SandboxRun {
    /// The private directory, which is the working directory of the function.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The same run with other variables than those of the sandbox, and with its private directory as `HOME` and
    /// `TMPDIR`.
    #[must_use]
    pub fn with_environment(mut self, environment: &[(OsString, OsString)]) -> SandboxRun {
        let private = ["HOME", "TMPDIR"];
        let others = environment
            .iter()
            .filter(|(name, _)| !private.iter().any(|private| name == private));
        self.environment = others.cloned().collect();
        let home = self.scratch.path().as_os_str();
        let private = private.map(|name| (name.into(), home.to_owned()));
        self.environment.extend(private);
        self
    }

    /// Starts a program: with the filtered environment, in the private directory, as leader of a process group. `name`
    /// is its first argument. One program at a time.
    pub fn start(
        &self,
        program: &Path,
        name: &str,
        arguments: &[String],
    ) -> Result<StartedProcess, StartError> {
        let arguments = arguments.iter().map(String::as_str);
        let words = [name].into_iter().chain(arguments).map(OsStr::new);
        let start = ProcessStart {
            program: Some(program),
            words: words.collect(),
            environment: &self.environment,
            owner: self.scratch.owner(),
        };
        spawn::start(&start, &self.plan).map_err(|error| match ConfineStep::of(&error) {
            Some((step, source)) => StartError::Sandbox(SandboxError::Confine {
                doing: step.doing(),
                source,
            }),
            None => StartError::Program(error),
        })
    }

    /// Which limit the processes in the group of `leader` exceed together. Where a control group enforces it, this is
    /// known after the kernel has killed them.
    pub fn excess(&self, leader: Pid) -> Option<Excess> {
        self.bounds.excess(leader, self.plan.group.as_ref())
    }

    /// The limit for which the kernel has killed the processes, as far as it reports that.
    pub fn excess_at_end(&self) -> Option<Excess> {
        self.bounds.excess_at_end(self.plan.group.as_ref())
    }

    /// Kills all remaining processes, as far as they can be found without the ID of their process group.
    pub fn kill(&self) {
        if let Some(group) = &self.plan.group {
            group.kill();
        }
    }
}

/// Limit of the address space of a process: its page tables fit into `memory`. A page of the table maps 512 pages of
/// memory. Go, Node, Java and .NET reserve far more than they use, but no function needs less than this minimum.
fn address_space(memory: u64) -> u64 {
    const LEAST: u64 = 16 << 30;
    memory.saturating_mul(512).max(LEAST)
}

/// The control group of a run, where groups can be made.
fn new_group(
    groups: &Result<ControlGroups, String>,
    limits: &SandboxLimits,
) -> Result<Option<ControlGroup>, SandboxError> {
    let made = groups.as_ref().ok().map(|groups| {
        let made = groups.make(limits);
        made.map_err(|source| SandboxError::ControlGroup {
            path: groups.path().to_owned(),
            source,
        })
    });
    made.transpose()
}

/// Limits are only lowered: limits that are in force already are not exceeded. `processes` is the limit of the
/// function's user, if it shares that with no others.
fn rlimits(limits: &SandboxLimits, processes: Option<u64>) -> Vec<(Resource, Rlimit)> {
    let mut wanted = vec![
        (Resource::As, address_space(limits.memory)),
        // With 0, the system would still start the program that handles core dumps; with 1 it does not, and no file
        // fits into one byte.
        (Resource::Core, 1),
        (Resource::Cpu, limits.cpu.as_secs().max(1)),
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file_size),
        (Resource::Memlock, 64 << 10),
        (Resource::Msgqueue, 0),
        (Resource::Nice, 0),
        (Resource::Nofile, limits.open_files),
        (Resource::Rtprio, 0),
    ];
    wanted.extend(processes.map(|processes| (Resource::Nproc, processes)));
    let lowered = wanted.into_iter().map(|(resource, limit)| {
        let maximum = getrlimit(resource)
            .maximum
            .map_or(limit, |there| there.min(limit));
        let limit = Rlimit {
            current: Some(maximum),
            maximum: Some(maximum),
        };
        (resource, limit)
    });
    lowered.chain([stack_limit()]).collect()
}

/// Stacks do not count as data. The current limit stays: the C library uses it as the size of thread stacks.
fn stack_limit() -> (Resource, Rlimit) {
    const LARGEST: u64 = 64 << 20;
    let there = getrlimit(Resource::Stack);
    let lower = |limit: Option<u64>| Some(limit.map_or(LARGEST, |limit| limit.min(LARGEST)));
    let limit = Rlimit {
        current: lower(there.current),
        maximum: lower(there.maximum),
    };
    (Resource::Stack, limit)
}
