//! The filter of system calls for functions.

use libc::c_long;
use seccompiler::BpfProgram;

use super::commands::{BUFFER_SIZES, FCNTL, IOCTL, IOCTL_OF_NETWORK, PRCTL};
use super::program::{ALLOW, Condition, SyscallRules};
use super::support::Support;
use super::syscalls::{
    MISSING, NEWEST, NO_OPERATION, OF_NAMESPACES, OF_NETWORK, OF_OWNERS, OF_PRIORITIES,
    OF_PROCESSES, OF_TRANSIT, REFUSED, UNSUPPORTED, WITHOUT_COPYING,
};
use crate::image::ImageNetwork;
use crate::measure::SandboxError;

/// The error for calls that are not allowed.
pub(super) const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// The error of a kernel that does not have the call.
pub(super) const MISS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The error of a file system that does not have the feature.
const UNSUPPORT: u32 = libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32;

/// The error for invalid arguments.
const MISFIT: u32 = libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32;

/// The caller sees success, and nothing is done.
const SUCCEED: u32 = libc::SECCOMP_RET_ERRNO;

/// Limit of the kernel.
const MOST_INSTRUCTIONS: usize = 4096;

/// Whether this architecture has filters.
pub(super) fn is_known_architecture() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
}

/// On whose files a function has rights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owners {
    /// On ours.
    Same,
    /// On no files of ours.
    Others,
}

/// The functions that a filter is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FilteredFunction {
    /// Executables, which share everything with this machine that the filter and Landlock do not forbid.
    Executable { allow_network: bool, owners: Owners },
    /// Programs of images, which have namespaces of their own.
    Image(ImageNetwork),
}

/// What sockets can reach.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SocketReach {
    /// There are no sockets, only pairs of them.
    Nothing,
    /// The processes of the function.
    Function,
    /// What this machine reaches, by internet protocols.
    Network,
}

impl FilteredFunction {
    fn sockets(self) -> SocketReach {
        match self {
            FilteredFunction::Executable {
                allow_network: false,
                ..
            } => SocketReach::Nothing,
            FilteredFunction::Image(ImageNetwork::Loopback) => SocketReach::Function,
            FilteredFunction::Executable { .. } | FilteredFunction::Image(ImageNetwork::Host) => {
                SocketReach::Network
            }
        }
    }

    /// The calls that it gets back.
    fn allows(self, number: c_long) -> bool {
        let of_network = self.sockets() != SocketReach::Nothing && OF_NETWORK.contains(&number);
        let is_image = matches!(self, FilteredFunction::Image(_));
        of_network || (is_image && OF_NAMESPACES.contains(&number))
    }
}

/// Since this version Landlock restricts truncating.
const RESTRICTS_TRUNCATING: i32 = 3;

/// Makes the filter for functions.
pub(super) fn compile(
    support: &Support,
    function: FilteredFunction,
) -> Result<BpfProgram, SandboxError> {
    let program = rules(support, function).compile(NEWEST, MISS);
    match program.len() {
        0..=MOST_INSTRUCTIONS => Ok(program),
        length => Err(SandboxError::Filter {
            reason: format!("it has {length} instructions, the kernel takes {MOST_INSTRUCTIONS}"),
        }),
    }
}

fn rules(support: &Support, function: FilteredFunction) -> SyscallRules {
    let mut rules = SyscallRules::otherwise(ALLOW);
    for number in MISSING.iter().filter(|number| !function.allows(**number)) {
        rules.always(*number, MISS);
    }
    for number in UNSUPPORTED {
        rules.always(*number, UNSUPPORT);
    }
    for number in REFUSED.iter().filter(|number| !function.allows(**number)) {
        rules.always(*number, REFUSE);
    }
    for number in WITHOUT_COPYING {
        rules.always(*number, MISFIT);
    }
    for number in NO_OPERATION {
        rules.always(*number, SUCCEED);
    }
    let flags = CLONE_FLAGS.map(i32::unsigned_abs);
    let any = flags.into_iter().fold(0, |all, flag| all | flag);
    rules.when(libc::SYS_clone, vec![Condition::HasAny(0, any)], REFUSE);
    refuse_by_process(&mut rules);
    refuse_by_memory(&mut rules);
    refuse_by_command(&mut rules, function.sockets());
    refuse_by_socket(&mut rules, function.sockets());
    let FilteredFunction::Executable { owners, .. } = function else {
        // Its files are on mounts of its own.
        return rules;
    };
    if support.landlock < RESTRICTS_TRUNCATING {
        refuse_truncating(&mut rules);
    }
    if owners == Owners::Same {
        for number in OF_OWNERS {
            rules.always(*number, REFUSE);
        }
        // The times of an open file. The filter cannot see which file it is, and `touch`, `cp -p` and `tar` fail if
        // they cannot set times, in the private directory too: they get success, and the times stay.
        let is_open = vec![Condition::WideIsNull(1)];
        rules.when(libc::SYS_utimensat, is_open, SUCCEED);
        // The times of a file by its name.
        rules.always(libc::SYS_utimensat, REFUSE);
    }
    rules
}

/// A process may change itself only.
fn refuse_by_process(rules: &mut SyscallRules) {
    for number in OF_PROCESSES {
        rules.when(*number, vec![Condition::IsNot(0, 0)], REFUSE);
    }
    for (number, kind) in OF_PRIORITIES {
        rules.when(*number, vec![Condition::IsNot(0, *kind)], REFUSE);
        rules.when(*number, vec![Condition::IsNot(1, 0)], REFUSE);
    }
}

/// Memory that no limit counts: shared memory stays when it is unmapped, as long as a page of it is mapped anywhere,
/// and memory that grows down counts as a stack.
fn refuse_by_memory(rules: &mut SyscallRules) {
    let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs();
    let grows = libc::MAP_GROWSDOWN.unsigned_abs();
    for flags in [shared, grows] {
        let has_flags = vec![Condition::HasBits(3, flags, flags)];
        rules.when(libc::SYS_mmap, has_flags, REFUSE);
    }
}

fn refuse_by_command(rules: &mut SyscallRules, sockets: SocketReach) {
    let mut requests = IOCTL.to_vec();
    if sockets != SocketReach::Nothing {
        requests.extend(IOCTL_OF_NETWORK);
    }
    for (number, argument, allowed) in [
        (libc::SYS_fcntl, 1, FCNTL.to_vec()),
        (libc::SYS_ioctl, 1, requests),
        (libc::SYS_prctl, 0, PRCTL.to_vec()),
    ] {
        let other = Condition::IsNoneOf(argument, allowed);
        rules.when(number, vec![other], REFUSE);
    }
    // A process may set its parent-death signal to `SIGKILL` again, and to nothing else.
    let sets_signal = Condition::Is(0, libc::PR_SET_PDEATHSIG.unsigned_abs());
    let to_another = Condition::WideIsNot(1, libc::SIGKILL.unsigned_abs());
    rules.when(libc::SYS_prctl, vec![sets_signal, to_another], REFUSE);
}

fn refuse_by_socket(rules: &mut SyscallRules, reach: SocketReach) {
    let other = Condition::IsNot(0, libc::AF_UNIX.unsigned_abs());
    rules.when(libc::SYS_socketpair, vec![other], REFUSE);
    if reach != SocketReach::Function {
        // Datagram sockets can send to any address; the other kinds of pairs are bound to each other. Raw sockets of
        // pairs are datagram sockets.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            let is_kind = Condition::HasBits(1, SOCKET_KIND, kind.unsigned_abs());
            rules.when(libc::SYS_socketpair, vec![is_kind], REFUSE);
        }
    }
    if reach != SocketReach::Nothing {
        refuse_by_protocol(rules, reach);
    }
    if reach == SocketReach::Nothing {
        rules.always(libc::SYS_socket, REFUSE);
        for number in OF_TRANSIT {
            rules.always(*number, REFUSE);
        }
    }
    if reach != SocketReach::Network {
        for option in BUFFER_SIZES {
            let of_sockets = Condition::Is(1, libc::SOL_SOCKET.unsigned_abs());
            let conditions = vec![of_sockets, Condition::Is(2, *option)];
            rules.when(libc::SYS_setsockopt, conditions, REFUSE);
        }
    }
}

/// The usual protocols only: the kernel loads modules for others.
fn refuse_by_protocol(rules: &mut SyscallRules, reach: SocketReach) {
    let mut families = vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    if reach == SocketReach::Function {
        families.push(libc::AF_UNIX);
        let unix = Condition::Is(0, libc::AF_UNIX.unsigned_abs());
        rules.when(libc::SYS_socket, vec![unix], ALLOW);
    }
    let families = families.into_iter().map(i32::unsigned_abs).collect();
    rules.when(
        libc::SYS_socket,
        vec![Condition::IsNoneOf(0, families)],
        REFUSE,
    );
    // The addresses of the machine. Other protocols of that family reach other parts of the kernel.
    let netlink = Condition::Is(0, libc::AF_NETLINK.unsigned_abs());
    let other = Condition::IsNot(2, libc::NETLINK_ROUTE.unsigned_abs());
    rules.when(libc::SYS_socket, vec![netlink, other], REFUSE);
    let internet = Condition::IsNot(0, libc::AF_NETLINK.unsigned_abs());
    let other = Condition::IsNoneOf(2, PROTOCOLS.map(i32::unsigned_abs).to_vec());
    rules.when(libc::SYS_socket, vec![internet, other], REFUSE);
}

/// Opening a file for reading with truncation counts as reading for old versions of Landlock.
fn refuse_truncating(rules: &mut SyscallRules) {
    rules.always(libc::SYS_truncate, REFUSE);
    let truncate = libc::O_TRUNC.unsigned_abs();
    let mask = truncate | libc::O_ACCMODE.unsigned_abs();
    let reads = |argument| vec![Condition::HasBits(argument, mask, truncate)];
    #[cfg(target_arch = "x86_64")]
    rules.when(libc::SYS_open, reads(1), REFUSE);
    rules.when(libc::SYS_openat, reads(2), REFUSE);
    // Its flags are in memory.
    rules.always(libc::SYS_openat2, MISS);
}

/// Flags that clone refuses: new namespaces, and children of the caller's parent, which is us.
const CLONE_FLAGS: [i32; 8] = [
    libc::CLONE_PARENT,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The usual internet protocols: 0 is the default of the kind of socket.
const PROTOCOLS: [i32; 6] = [
    0,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_ICMPV6,
    libc::IPPROTO_MPTCP,
];

/// The remaining bits of a socket's type are flags.
const SOCKET_KIND: u32 = 0xf;
