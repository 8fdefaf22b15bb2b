//! The sandbox on Linux: Landlock for files and signals, seccomp for the network and the kernel, resource limits, and
//! where we may, a user of its own for each function.
//!
//! No namespaces: making and unmaking one for the network alone costs about as much as all of what is here, few
//! containers allow them, and nothing that they would keep away is left reachable without.

mod access;
mod child;
mod cleanup;
mod commands;
mod confine;
mod control_groups;
mod file_user;
mod filter;
mod homes;
mod identity;
mod kernel;
mod mask;
mod parent_watch;
mod places;
mod program;
mod scratch;
mod spawn;
mod support;
mod syscalls;
mod watch;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit};
use seccompiler::BpfProgram;

use crate::environment::{ALLOWED_VARIABLES, NETWORK_VARIABLES, Surroundings, cleaned};
use crate::measure::{Excess, Measure, SandboxError, StartError};
use crate::policy::{SandboxLimits, SandboxPolicy};

pub use confine::{confine_worker, lower_priority};
pub(crate) use kernel::keep_all_descriptors;
pub(crate) use parent_watch::watcher;
pub use spawn::Started;

use child::{Plan, Step};
use control_groups::{ControlGroup, ControlGroups, Delegated};
use filter::Owners;
use homes::Homes;
use identity::{Identity, Passage, Users};
use parent_watch::Noted;
use places::{Allowed, Places};
use scratch::{Scratch, ScratchRoot};
use spawn::Start;
use support::Support;
use watch::Bounds;

/// What functions are run in. One serves any number of runs at the same time.
pub struct Sandbox {
    policy: SandboxPolicy,
    support: Support,
    environment: Vec<(OsString, OsString)>,
    homes: Homes,
    filter: Arc<BpfProgram>,
    /// For functions that have rights on our files.
    filter_of_owners: Arc<BpfProgram>,
    places: Places,
    scratch: ScratchRoot,
    /// Where the groups of runs are made, or why there are none.
    control_groups: Result<ControlGroups, String>,
}

impl Sandbox {
    /// What a sandbox with the default policy would do on this system.
    pub fn probe() -> Vec<Measure> {
        let policy = SandboxPolicy::default();
        let delegated = Delegated::find(&policy.control_group);
        let path = delegated.as_ref().map(Delegated::path);
        support::measures(&Support::probe(), &policy, path.map_err(String::as_str))
    }

    /// Makes a sandbox, or says what the system lacks for one. Private directories that killed programs left behind are
    /// removed.
    pub fn new(policy: SandboxPolicy, surroundings: Surroundings) -> Result<Sandbox, SandboxError> {
        let support = Support::probe();
        support.check()?;
        let users = support.own_users.then(Users::choose);
        let mut allowed = ALLOWED_VARIABLES.to_vec();
        if policy.allow_network {
            allowed.extend(NETWORK_VARIABLES);
        }
        let compile =
            |owners| filter::compile(&support, policy.allow_network, owners).map(Arc::new);
        let homes = Homes::find(&surroundings.environment);
        // As early as possible: it is a copy of this process, and keeps the memory that it was made with.
        parent_watch::ensure();
        let delegated = Delegated::find(&policy.control_group);
        Ok(Sandbox {
            environment: cleaned(surroundings.environment, &allowed, &policy.variables),
            filter: compile(Owners::Others)?,
            filter_of_owners: compile(Owners::Same)?,
            places: Places::open(&policy.read, &homes)?,
            homes,
            scratch: ScratchRoot::new(&surroundings.temporary, users)?,
            control_groups: delegated.and_then(Delegated::prepare),
            support,
            policy,
        })
    }

    /// What this sandbox does.
    pub fn measures(&self) -> Vec<Measure> {
        let path = self.control_groups.as_ref().map(ControlGroups::path);
        support::measures(&self.support, &self.policy, path.map_err(String::as_str))
    }

    /// Prepares one run of `program`, with `memory` instead of the policy's if given.
    pub fn cell(&self, program: &Path, memory: Option<u64>) -> Result<Cell, SandboxError> {
        let scratch = self.scratch.take()?;
        let program_places = places::of_program(program, &self.homes);
        let identity = match scratch.owner() {
            None => Identity::Same,
            Some(user) => Identity::Other(user, self.passage(program, &program_places)),
        };
        let ruleset =
            self.places
                .ruleset(&program_places, scratch.path(), self.policy.allow_network)?;
        let mut limits = self.policy.limits;
        limits.memory = memory.unwrap_or(limits.memory);
        let group = self.control_groups.as_ref().ok();
        let group = group.map(|groups| {
            groups
                .make(&limits)
                .map_err(|source| SandboxError::ControlGroup {
                    path: groups.path().to_owned(),
                    source,
                })
        });
        let plan = Plan {
            parent: getpid(),
            was_dumpable: self.support.is_dumpable,
            identity,
            rlimits: rlimits(&limits, identity),
            ruleset,
            filter: Arc::clone(match identity.shares_our_files() {
                true => &self.filter_of_owners,
                false => &self.filter,
            }),
            noted: Noted::take(),
            group: group.transpose()?,
        };
        let mut environment = self.environment.clone();
        let home = scratch.path().as_os_str().to_owned();
        environment.push(("HOME".into(), home.clone()));
        environment.push(("TMPDIR".into(), home));
        Ok(Cell {
            plan,
            environment,
            bounds: Bounds {
                limits,
                owner: scratch.owner(),
                socket_buffer: self.support.socket_buffer,
            },
            scratch,
        })
    }

    /// What another user needs to start a program and to read what it may.
    fn passage(&self, program: &Path, places: &[Allowed]) -> Passage {
        let read = places.iter().map(|(path, _)| path);
        let read = read.chain(&self.policy.read).map(PathBuf::as_path);
        let read = read.chain([program]);
        let is_open =
            || access::everybody_reads(read) && access::everybody_passes(self.scratch.path());
        match access::everybody_executes(program) {
            false => Passage::Locked,
            true if is_open() => Passage::Open,
            true => Passage::Closed,
        }
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Sandbox");
        shown.field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The sandbox of one run. Dropping it removes the private directory, so the processes have to be dead by then.
pub struct Cell {
    plan: Plan,
    environment: Vec<(OsString, OsString)>,
    bounds: Bounds,
    scratch: Scratch,
}

impl Cell {
    /// The private directory, where the function starts.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Starts a program in here: with the cleaned environment, in the private directory, as leader of a process group.
    /// `name` is what it is called by. One program at a time.
    pub fn start(
        &self,
        program: &Path,
        name: &str,
        arguments: &[String],
    ) -> Result<Started, StartError> {
        let arguments = arguments.iter().map(String::as_str);
        let start = Start {
            program,
            words: [name].into_iter().chain(arguments).collect(),
            environment: &self.environment,
            directory: self.scratch.path(),
            owner: self.scratch.owner(),
        };
        spawn::start(&start, &self.plan).map_err(|error| match Step::of(&error) {
            Some((doing, source)) => StartError::Sandbox(SandboxError::Confine { doing, source }),
            None => StartError::Program(error),
        })
    }

    /// Whether the processes in the group of `leader` use more than they may, all together. Where the kernel sees to it,
    /// this is known when it has killed them.
    pub fn excess(&self, leader: Pid) -> Option<Excess> {
        match &self.plan.group {
            Some(_) => self.excess_at_end(),
            None => self.bounds.excess(leader),
        }
    }

    /// What the kernel has killed the processes for, as far as it says so.
    pub fn excess_at_end(&self) -> Option<Excess> {
        let group = self.plan.group.as_ref();
        group
            .is_some_and(ControlGroup::ran_out_of_memory)
            .then_some(Excess::Memory(self.bounds.limits.memory))
    }

    /// Kills all processes that are still there, as far as they can be found without the number of their process group.
    pub fn kill(&self) {
        if let Some(group) = &self.plan.group {
            group.kill();
        }
    }
}

/// How many addresses a process may reserve: so many that a table of all of them fits into `memory`. A page of the table
/// is for 512 pages of memory. Go, Node, Java and .NET reserve far more than they use, but no function needs less than
/// the least of this.
fn address_space(memory: u64) -> u64 {
    const LEAST: u64 = 16 << 30;
    memory.saturating_mul(512).max(LEAST)
}

/// Limits only ever go down: what the system says already is not exceeded.
fn rlimits(limits: &SandboxLimits, identity: Identity) -> Vec<(Resource, Rlimit)> {
    let mut wanted = vec![
        (Resource::As, address_space(limits.memory)),
        // With 0, a program that the system starts for core dumps would still be started; with 1 it is not, and no file has
        // room in one byte.
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
    if let Identity::Other(..) = identity {
        // Of a user that we share with others, others' processes would count too.
        wanted.push((Resource::Nproc, limits.processes));
    }
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

/// Stacks are not counted as data. What they have now stays: the C library makes stacks of threads as large.
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
