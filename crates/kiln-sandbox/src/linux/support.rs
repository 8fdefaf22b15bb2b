//! The features of this kernel that this process may use.

use std::path::Path;
use std::sync::OnceLock;

use rustix::process::{DumpableBehavior, dumpable_behavior};

use super::filter::is_known_architecture;
use super::identity::Users;
use super::kernel;
use crate::measure::{InForce, Measure, SandboxError};
use crate::policy::{SandboxLimits, SandboxPolicy};
use crate::processes;

/// Since this version Landlock keeps signals inside the sandbox.
const SCOPED_SIGNALS: i32 = 6;

const NO_PROC: &str = "processes cannot be watched: /proc is missing, or that of another system";

pub(super) struct Support {
    /// The version of Landlock, 0 for none.
    pub(super) landlock: i32,
    pub(super) seccomp: bool,
    /// Whether all open files can be marked at once. The filters of old container engines refuse that.
    pub(super) marks_descriptors: bool,
    /// Whether functions get separate users.
    pub(super) own_users: bool,
    /// Whether `/proc` shows what functions use.
    pub(super) sees_processes: bool,
    /// Whether this process can be dumped.
    pub(super) is_dumpable: bool,
    /// How much a socket holds, in bytes.
    pub(super) socket_buffer: u64,
    /// Whether the limit of processes counts those of one user namespace.
    pub(super) counts_by_namespace: bool,
}

impl Support {
    pub(super) fn probe() -> Support {
        Support {
            landlock: kernel::landlock_version(),
            seccomp: is_known_architecture() && kernel::has_seccomp(),
            marks_descriptors: kernel::can_mark_descriptors(),
            own_users: Users::can_be_used(),
            sees_processes: processes::are_visible(),
            is_dumpable: is_dumpable(),
            socket_buffer: socket_buffer(),
            counts_by_namespace: release() >= COUNTS_BY_NAMESPACE,
        }
    }

    /// Checks the minimum of a sandbox: rules for files and a filter.
    pub(super) fn check(&self) -> Result<(), SandboxError> {
        let reason = match (self.landlock, self.seccomp, self.marks_descriptors) {
            (0, _, _) => "the kernel has no Landlock, or it is not enabled",
            (_, false, _) => "the kernel does not filter system calls, or not on this architecture",
            (_, _, false) => "the filter of the container refuses the system call close_range",
            _ => return Ok(()),
        };
        let reason = reason.to_owned();
        Err(SandboxError::Unsupported { reason })
    }
}

/// Since this release the kernel counts the processes of a user in each user namespace.
const COUNTS_BY_NAMESPACE: (u32, u32) = (5, 14);

/// The first two numbers of the kernel's release; 0 where there is none.
fn release() -> (u32, u32) {
    let name = rustix::system::uname();
    let text = name.release().to_str().unwrap_or_default();
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    (next().unwrap_or_default(), next().unwrap_or_default())
}

/// The setting of the system, or its default.
fn socket_buffer() -> u64 {
    const DEFAULT: u64 = 212_992;
    let set = std::fs::read_to_string("/proc/sys/net/core/wmem_default").unwrap_or_default();
    set.trim().parse().unwrap_or(DEFAULT)
}

/// Read once: it may change for a moment while a child is made.
fn is_dumpable() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| dumpable_behavior() == Ok(DumpableBehavior::Dumpable))
}

/// The measures in force in a sandbox, or that there is none.
///
/// `groups` is where control groups are made, or why there are none.
pub(super) fn measures(
    support: &Support,
    policy: &SandboxPolicy,
    groups: Result<&Path, &str>,
) -> Vec<Measure> {
    if let Err(error) = support.check() {
        return vec![measure("sandbox", InForce::No, error.to_string())];
    }
    let limits = &policy.limits;
    let files = format!(
        "Landlock version {}: system and function read-only, a private directory to write",
        support.landlock
    );
    let network = match policy.allow_network {
        true => "internet protocols only",
        false => "none, no sockets of any kind",
    };
    let calls = "no tracing, mounting, namespaces, io_uring, keys, modules";
    let sizes = format!(
        "{} s of computing, {} open files, files of {} bytes, no core dumps",
        limits.cpu.as_secs(),
        limits.open_files,
        limits.file_size
    );
    vec![
        measure("files", InForce::Yes, files),
        measure("network", InForce::Yes, network.to_owned()),
        measure("system calls", InForce::Yes, calls.to_owned()),
        signals(support),
        user(support),
        processes_of(support, limits, groups),
        memory(support, limits, groups),
        measure("limits", InForce::Yes, sizes),
    ]
}

fn signals(support: &Support) -> Measure {
    let (in_force, how) = match (support.landlock >= SCOPED_SIGNALS, support.own_users) {
        (true, _) => (InForce::Yes, "Landlock keeps them inside".to_owned()),
        (false, true) => (
            InForce::Yes,
            "a separate user has no processes to send them to".to_owned(),
        ),
        (false, false) => (
            InForce::No,
            format!(
                "Landlock keeps them inside since version {SCOPED_SIGNALS} (Linux 6.12), this is version {}",
                support.landlock
            ),
        ),
    };
    measure("signals", in_force, how)
}

fn user(support: &Support) -> Measure {
    let how = match support.own_users {
        true => "each function has a user of its own, without capabilities",
        false => "the same user, without capabilities: only root may give functions another one",
    };
    measure("user", yes_or_partly(support.own_users), how.to_owned())
}

fn memory(support: &Support, limits: &SandboxLimits, groups: Result<&Path, &str>) -> Measure {
    let most = limits.memory;
    let (in_force, how) = match (groups, support.sees_processes) {
        (Ok(path), _) => (
            InForce::Yes,
            format!(
                "{most} bytes for all processes with what the kernel keeps for them, by a control group in {}",
                path.display()
            ),
        ),
        (Err(reason), true) => (
            InForce::Yes,
            format!(
                "{most} bytes a process, and watched for all processes together, with tables, sockets and pipes; no control group: {reason}"
            ),
        ),
        (Err(reason), false) => (
            InForce::Partly,
            format!("{most} bytes a process, {NO_PROC}; no control group: {reason}"),
        ),
    };
    measure("memory", in_force, how)
}

fn processes_of(support: &Support, limits: &SandboxLimits, groups: Result<&Path, &str>) -> Measure {
    let most = limits.processes;
    if groups.is_ok() {
        let how = format!("at most {most}, by the control group");
        return measure("processes", InForce::Yes, how);
    }
    let (in_force, how) = match (support.own_users, support.sees_processes) {
        (true, _) => (
            InForce::Yes,
            format!("at most {most}, by the limit of that user"),
        ),
        (false, true) => (
            InForce::Partly,
            format!("watched, all are killed when there are more than {most}"),
        ),
        (false, false) => (InForce::No, NO_PROC.to_owned()),
    };
    measure("processes", in_force, how)
}

fn yes_or_partly(yes: bool) -> InForce {
    if yes { InForce::Yes } else { InForce::Partly }
}

fn measure(name: &'static str, in_force: InForce, how: String) -> Measure {
    Measure {
        name,
        in_force,
        how,
    }
}
