//! Confines the calling process: a worker that computes on what it reads from one socket, and needs nothing else.
//!
//! Other people's programs are confined before they start ([`super::child`]). A worker is our own program: it confines
//! itself after its start, so it can be left with far less than a program needs to start. The system calls that it may
//! still make are an allow list.

use std::io;
use std::process::id;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, Scope};
use libc::c_long;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal,
    setpriority_process, setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use seccompiler::BpfProgram;

use super::child::raise_oom_score;
use super::filter::{MISS, REFUSE, is_known_architecture};
use super::kernel;
use super::program::{ALLOW, Condition, SyscallRules};
use super::syscalls::NEWEST;
use crate::measure::SandboxError;

/// The newest version of Landlock whose rights we know. The library leaves out what the kernel does not know.
const NEWEST_LANDLOCK: ABI = ABI::V9;

/// The system calls of a worker: its socket, memory, threads, time and its own exit.
const ALLOWED: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_close,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The nice value of low-priority processes; 0 is the default, 19 the lowest priority.
const LOW_PRIORITY: i32 = 10;

/// Confines the calling process permanently. It must have one thread only, and must have opened what it needs.
///
/// From now on it may use `memory` bytes more than it has, opens nothing, reaches no other process and no network, and
/// is killed when the thread that started it ends. `parent` is the process that started it.
pub fn confine_worker(parent: u32, memory: u64) -> Result<(), SandboxError> {
    // Needs files of /proc, so it comes before the rules for files.
    raise_oom_score();
    let data = step("set limits", data_limit(memory))?;
    for (resource, limit) in [
        (Resource::Core, 0),
        (Resource::Data, data),
        (Resource::Fsize, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
    ] {
        step("set limits", lower(resource, limit))?;
    }
    let none = CapabilitySet::empty();
    let no_capabilities = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    step("drop capabilities", set_capabilities(None, no_capabilities))?;
    let killed = set_parent_process_death_signal(Some(Signal::KILL));
    step("end with the parent", killed)?;
    let started_by = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    if started_by != Some(parent) {
        // The parent exited before the kernel knew that this process must not outlive it.
        return step("end with the parent", Err(rustix::io::Errno::SRCH));
    }
    // Without it the kernel accepts neither rules nor filters.
    step("give up new privileges", set_no_new_privs(true))?;
    let closed = close_files().map_err(|error| SandboxError::Rules {
        reason: error.to_string(),
    });
    // Last, because it forbids all of the above; and without Landlock too, because it also forbids opening files.
    if is_known_architecture() {
        step("filter system calls", kernel::install_filter(&filter()))?;
    }
    closed
}

/// Lowers the priority. A process cannot raise it again without privileges.
pub fn lower_priority(process: Option<u32>) {
    let process = process.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(process) = process {
        // Nothing depends on it.
        let _ = setpriority_process(Some(process), LOW_PRIORITY);
    }
}

fn step<T, E: Into<io::Error>>(
    doing: &'static str,
    result: Result<T, E>,
) -> Result<T, SandboxError> {
    result.map_err(|error| SandboxError::Confine {
        doing,
        source: error.into(),
    })
}

/// Current use plus `memory` bytes. The limit counts all writable memory.
fn data_limit(memory: u64) -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let data = status
        .lines()
        .find_map(|line| line.strip_prefix("VmData:"))
        .and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(data.unwrap_or_default() * 1024 + memory)
}

/// Limits are only lowered: limits that are in force already are not exceeded.
fn lower(resource: Resource, limit: u64) -> rustix::io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let limit = Some(maximum.map_or(limit, |maximum| maximum.min(limit)));
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(resource, limit)
}

/// Forbids opening files, if the kernel has Landlock; the filter forbids it too.
fn close_files() -> Result<(), RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST_LANDLOCK))?
        .handle_access(AccessNet::from_all(NEWEST_LANDLOCK))?
        .scope(Scope::from_all(NEWEST_LANDLOCK))?;
    ruleset.create()?.restrict_self().map(drop)
}

fn filter() -> BpfProgram {
    let mut rules = SyscallRules::otherwise(REFUSE);
    for call in ALLOWED {
        rules.always(*call, ALLOW);
    }
    // A process aborts with a signal to itself.
    let itself = Condition::Is(0, id());
    rules.when(libc::SYS_tgkill, vec![itself], ALLOW);
    // It may start threads, but no other processes. The C library uses clone3, whose flags a filter cannot see, unless
    // the kernel does not have it.
    let bit = libc::CLONE_THREAD.unsigned_abs();
    let is_thread = Condition::HasBits(0, bit, bit);
    rules.when(libc::SYS_clone, vec![is_thread], ALLOW);
    rules.always(libc::SYS_clone3, MISS);
    let sets_name = Condition::Is(0, libc::PR_SET_NAME.unsigned_abs());
    rules.when(libc::SYS_prctl, vec![sets_name], ALLOW);
    rules.compile(NEWEST, MISS)
}
