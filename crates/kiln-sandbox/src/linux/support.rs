//! What this kernel, and our place in it, allow.

use std::sync::OnceLock;

use rustix::process::{DumpableBehavior, dumpable_behavior};

use super::filter::is_known_architecture;
use super::identity::Users;
use super::kernel;
use crate::measure::{InForce, Measure, SandboxError};
use crate::policy::SandboxPolicy;

/// Since this version of Landlock signals do not leave the sandbox.
const SCOPED_SIGNALS: i32 = 6;

/// What there is.
pub(super) struct Support {
    /// The version of Landlock, 0 for none.
    pub(super) landlock: i32,
    pub(super) seccomp: bool,
    /// Whether functions get users of their own.
    pub(super) own_users: bool,
    /// Whether this process can be dumped.
    pub(super) is_dumpable: bool,
}

impl Support {
    pub(super) fn probe() -> Support {
        Support {
            landlock: kernel::landlock_version(),
            seccomp: is_known_architecture() && kernel::has_seccomp(),
            own_users: Users::are_ours_to_give(),
            is_dumpable: is_dumpable(),
        }
    }

    /// Whether it is enough to speak of a sandbox: without rules about files or without a filter it is not.
    pub(super) fn check(&self) -> Result<(), SandboxError> {
        let reason = match (self.landlock, self.seccomp) {
            (0, _) => "the kernel has no Landlock, or it is not enabled",
            (_, false) => "the kernel does not filter system calls, or not on this architecture",
            _ => return Ok(()),
        };
        let reason = reason.to_owned();
        Err(SandboxError::Unsupported { reason })
    }
}

/// Asked for once: while a child is made, it may be otherwise for a moment.
fn is_dumpable() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| dumpable_behavior() == Ok(DumpableBehavior::Dumpable))
}

/// What would be in force.
pub(super) fn measures(support: &Support, policy: &SandboxPolicy) -> Vec<Measure> {
    let limits = &policy.limits;
    let own_user = support.own_users;
    let if_any = |there: bool| if there { InForce::Yes } else { InForce::No };
    let measure = |name, in_force, how: String| Measure {
        name,
        in_force,
        how,
    };
    let files = if_any(support.landlock > 0);
    let filtered = if_any(support.seccomp);
    let signals = match support.landlock >= SCOPED_SIGNALS {
        true => "Landlock keeps them inside".to_owned(),
        false if own_user => "a user of its own has nobody to send them to".to_owned(),
        false => format!(
            "Landlock keeps them inside since version {SCOPED_SIGNALS} (Linux 6.12), this is version {}",
            support.landlock
        ),
    };
    let user = match own_user {
        true => "each function has a user of its own, without capabilities".to_owned(),
        false => "the same user, without capabilities: only root may give functions another one"
            .to_owned(),
    };
    let processes = match own_user {
        true => format!("at most {}, by the limit of that user", limits.processes),
        false => format!(
            "watched, all are killed when there are more than {}",
            limits.processes
        ),
    };
    vec![
        measure(
            "files",
            files,
            match support.landlock {
                0 => "the kernel has no Landlock, or it is not enabled".to_owned(),
                version => format!(
                    "Landlock version {version}: system and function read-only, a private directory to write"
                ),
            },
        ),
        measure(
            "network",
            filtered,
            match (support.seccomp, policy.allow_network) {
                (false, _) => "the kernel does not filter system calls".to_owned(),
                (_, true) => "internet protocols only".to_owned(),
                (_, false) => "none, no sockets of any kind".to_owned(),
            },
        ),
        measure(
            "system calls",
            filtered,
            "no tracing, mounting, namespaces, io_uring, keys, modules".to_owned(),
        ),
        measure(
            "signals",
            if_any(support.landlock >= SCOPED_SIGNALS || own_user),
            signals,
        ),
        measure(
            "user",
            if own_user {
                InForce::Yes
            } else {
                InForce::Partly
            },
            user,
        ),
        measure(
            "processes",
            if own_user {
                InForce::Yes
            } else {
                InForce::Partly
            },
            processes,
        ),
        measure(
            "memory",
            InForce::Yes,
            format!(
                "{} bytes a process, and watched for all processes together",
                limits.memory
            ),
        ),
        measure(
            "limits",
            InForce::Yes,
            format!(
                "{} s of computing, {} open files, files of {} bytes, no core dumps",
                limits.cpu.as_secs(),
                limits.open_files,
                limits.file_size
            ),
        ),
    ]
}
