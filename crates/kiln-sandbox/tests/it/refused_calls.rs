//! Older kernels, and containers that refuse system calls, imitated by filters that a child process inherits.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// System calls that a process cannot make.
pub(crate) struct RefusedCalls {
    pub(crate) name: &'static str,
    /// The kernel does not have them (`ENOSYS`).
    missing: &'static [&'static [i64]],
    /// They are not permitted (`EPERM`).
    forbidden: &'static [&'static [i64]],
    /// Whether `clone` cannot make namespaces.
    no_namespaces: bool,
}

const SINCE_5_2: &[i64] = &[
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
];
const SINCE_5_3: &[i64] = &[libc::SYS_pidfd_open, libc::SYS_clone3];
const SINCE_5_9: &[i64] = &[
    libc::SYS_openat2,
    libc::SYS_faccessat2,
    libc::SYS_close_range,
];
const SINCE_5_13: &[i64] = &[
    libc::SYS_mount_setattr,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];
const OLDER_MOUNTS: &[i64] = &[libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root];
const ADMINISTRATION: &[i64] = &[
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_sethostname,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_mount_setattr,
];

/// Red Hat Enterprise Linux 8.
pub(crate) const LINUX_4_18: RefusedCalls = RefusedCalls {
    name: "Linux 4.18",
    missing: &[SINCE_5_2, SINCE_5_3, SINCE_5_9, SINCE_5_13],
    forbidden: &[],
    no_namespaces: false,
};

/// Ubuntu 20.04.
pub(crate) const LINUX_5_4: RefusedCalls = RefusedCalls {
    name: "Linux 5.4",
    missing: &[SINCE_5_9, SINCE_5_13],
    forbidden: &[],
    no_namespaces: false,
};

/// Debian 11.
pub(crate) const LINUX_5_10: RefusedCalls = RefusedCalls {
    name: "Linux 5.10",
    missing: &[SINCE_5_13],
    forbidden: &[],
    no_namespaces: false,
};

/// The default profile of containerd and docker for a container without capabilities: a pod.
pub(crate) const POD: RefusedCalls = RefusedCalls {
    name: "pod",
    missing: &[&[libc::SYS_clone3]],
    forbidden: &[OLDER_MOUNTS, SINCE_5_2, ADMINISTRATION],
    no_namespaces: true,
};

/// The same, by a library of filters that does not know newer system calls.
pub(crate) const OLD_POD: RefusedCalls = RefusedCalls {
    name: "pod of an old engine",
    missing: &[&[libc::SYS_clone3]],
    forbidden: &[
        OLDER_MOUNTS,
        SINCE_5_2,
        &[libc::SYS_openat2, libc::SYS_close_range],
        ADMINISTRATION,
    ],
    no_namespaces: true,
};

/// `SystemCallFilter=~@mount` of systemd.
pub(crate) const NO_MOUNTS: RefusedCalls = RefusedCalls {
    name: "service without mounts",
    missing: &[],
    forbidden: &[OLDER_MOUNTS, SINCE_5_2, &[libc::SYS_mount_setattr]],
    no_namespaces: false,
};

/// Only `open_tree` is missing.
pub(crate) const NO_OPEN_TREE: RefusedCalls = RefusedCalls {
    name: "no open_tree",
    missing: &[&[libc::SYS_open_tree]],
    forbidden: &[],
    no_namespaces: false,
};

/// Only `openat2` is refused.
pub(crate) const NO_OPENAT2: RefusedCalls = RefusedCalls {
    name: "no openat2",
    missing: &[],
    forbidden: &[&[libc::SYS_openat2]],
    no_namespaces: false,
};

pub(crate) const ALL: [RefusedCalls; 8] = [
    LINUX_4_18,
    LINUX_5_4,
    LINUX_5_10,
    POD,
    OLD_POD,
    NO_MOUNTS,
    NO_OPEN_TREE,
    NO_OPENAT2,
];

const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

impl RefusedCalls {
    /// Runs a program that cannot make the calls.
    pub(crate) fn output(&self, command: &mut Command) -> Output {
        let filters = self.filters();
        // A filter holds for the thread that installs it, and what it starts.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                for filter in &filters {
                    apply_filter(filter).unwrap();
                }
                command.output().unwrap()
            });
            thread.join().unwrap()
        })
    }

    fn filters(&self) -> Vec<BpfProgram> {
        let unconditional = |calls: &[&[i64]]| -> BTreeMap<i64, Vec<SeccompRule>> {
            calls
                .concat()
                .into_iter()
                .map(|call| (call, vec![]))
                .collect()
        };
        let mut forbidden = unconditional(self.forbidden);
        if self.no_namespaces {
            let rules = NAMESPACES.into_iter().map(|flag| {
                let flag = u64::from(flag.cast_unsigned());
                let comparison = SeccompCmpOp::MaskedEq(flag);
                let length = SeccompCmpArgLen::Qword;
                let condition = SeccompCondition::new(0, length, comparison, flag).unwrap();
                SeccompRule::new(vec![condition]).unwrap()
            });
            forbidden.insert(libc::SYS_clone, rules.collect());
        }
        let missing = unconditional(self.missing);
        let answers = [(missing, libc::ENOSYS), (forbidden, libc::EPERM)];
        let answers = answers.into_iter().filter(|(rules, _)| !rules.is_empty());
        let filters = answers.map(|(rules, errno)| {
            let action = SeccompAction::Errno(errno.cast_unsigned());
            let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture);
            filter.unwrap().try_into().unwrap()
        });
        filters.collect()
    }
}
