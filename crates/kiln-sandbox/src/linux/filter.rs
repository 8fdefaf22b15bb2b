//! The list of system calls as a program for the kernel.

use libc::c_long;
use seccompiler::BpfProgram;

use super::commands::{BUFFER_SIZES, FCNTL, IOCTL, IOCTL_OF_NETWORK, PRCTL};
use super::program::{ALLOW, Condition, Rules};
use super::support::Support;
use super::syscalls::{
    DONE_IN_VAIN, MISSING, NEWEST, OF_NETWORK, OF_OWNERS, OF_PRIORITIES, OF_PROCESSES, OF_TRANSIT,
    REFUSED, UNSUPPORTED, WITHOUT_COPYING,
};
use crate::measure::SandboxError;

/// The answer to what is not allowed.
pub(super) const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// The answer of a kernel that does not have the call.
pub(super) const MISS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The answer of a file system that does not have the feature.
const UNSUPPORT: u32 = libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32;

/// The answer to arguments that do not fit the call.
const MISFIT: u32 = libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32;

/// An error that is none: the caller sees success, and nothing is done.
const SUCCEED: u32 = libc::SECCOMP_RET_ERRNO;

/// What the kernel takes.
const MOST_INSTRUCTIONS: usize = 4096;

/// Whether there are filters for this architecture.
pub(super) fn is_known_architecture() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
}

/// Whose files a function has rights on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owners {
    /// Ours.
    Same,
    /// Nobody's.
    Others,
}

/// Since this version Landlock restricts truncating.
const RESTRICTS_TRUNCATING: i32 = 3;

/// Makes the filter for functions with or without network.
pub(super) fn compile(
    support: &Support,
    allow_network: bool,
    owners: Owners,
) -> Result<BpfProgram, SandboxError> {
    let program = rules(support, allow_network, owners).compile(NEWEST, MISS);
    match program.len() {
        0..=MOST_INSTRUCTIONS => Ok(program),
        length => Err(SandboxError::Filter {
            reason: format!("it has {length} instructions, the kernel takes {MOST_INSTRUCTIONS}"),
        }),
    }
}

fn rules(support: &Support, allow_network: bool, owners: Owners) -> Rules {
    let mut rules = Rules::otherwise(ALLOW);
    for number in MISSING {
        rules.always(*number, MISS);
    }
    for number in UNSUPPORTED {
        rules.always(*number, UNSUPPORT);
    }
    let allowed: &[c_long] = if allow_network { OF_NETWORK } else { &[] };
    for number in REFUSED.iter().filter(|number| !allowed.contains(number)) {
        rules.always(*number, REFUSE);
    }
    for number in WITHOUT_COPYING {
        rules.always(*number, MISFIT);
    }
    for number in DONE_IN_VAIN {
        rules.always(*number, SUCCEED);
    }
    let flags = CLONE_FLAGS.map(i32::unsigned_abs);
    let any = flags.into_iter().fold(0, |all, flag| all | flag);
    rules.when(libc::SYS_clone, vec![Condition::HasAny(0, any)], REFUSE);
    refuse_by_process(&mut rules);
    refuse_by_memory(&mut rules);
    refuse_by_command(&mut rules, allow_network);
    refuse_by_socket(&mut rules, allow_network);
    if support.landlock < RESTRICTS_TRUNCATING {
        refuse_truncating(&mut rules);
    }
    if owners == Owners::Same {
        for number in OF_OWNERS {
            rules.always(*number, REFUSE);
        }
        // The times of an open file. The filter cannot see which file it is, and `touch`, `cp -p` and `tar` fail if they
        // cannot set times, in the private directory too: they are answered with success, and the times stay.
        let is_open = vec![Condition::WideIsNull(1)];
        rules.when(libc::SYS_utimensat, is_open, SUCCEED);
        // Those of a file by its name.
        rules.always(libc::SYS_utimensat, REFUSE);
    }
    rules
}

/// A process may change itself, and no other.
fn refuse_by_process(rules: &mut Rules) {
    for number in OF_PROCESSES {
        rules.when(*number, vec![Condition::IsNot(0, 0)], REFUSE);
    }
    for (number, kind) in OF_PRIORITIES {
        rules.when(*number, vec![Condition::IsNot(0, *kind)], REFUSE);
        rules.when(*number, vec![Condition::IsNot(1, 0)], REFUSE);
    }
}

/// Memory that no limit counts: shared memory stays when it is unmapped, as long as a page of it is mapped anywhere, and
/// what grows down counts as a stack.
fn refuse_by_memory(rules: &mut Rules) {
    let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs();
    let grows = libc::MAP_GROWSDOWN.unsigned_abs();
    for flags in [shared, grows] {
        let has_flags = vec![Condition::HasBits(3, flags, flags)];
        rules.when(libc::SYS_mmap, has_flags, REFUSE);
    }
}

fn refuse_by_command(rules: &mut Rules, allow_network: bool) {
    let mut requests = IOCTL.to_vec();
    if allow_network {
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
    // A process that dies with its parent may ask for that again, and for nothing else.
    let sets_signal = Condition::Is(0, libc::PR_SET_PDEATHSIG.unsigned_abs());
    let to_another = Condition::WideIsNot(1, libc::SIGKILL.unsigned_abs());
    rules.when(libc::SYS_prctl, vec![sets_signal, to_another], REFUSE);
}

fn refuse_by_socket(rules: &mut Rules, allow_network: bool) {
    let other = Condition::IsNot(0, libc::AF_UNIX.unsigned_abs());
    rules.when(libc::SYS_socketpair, vec![other], REFUSE);
    // Datagram sockets can be sent from to any address; the others of a pair are bound to each other. Raw ones are
    // datagram sockets by another name.
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let is_kind = Condition::HasBits(1, SOCKET_KIND, kind.unsigned_abs());
        rules.when(libc::SYS_socketpair, vec![is_kind], REFUSE);
    }
    if allow_network {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let other = Condition::IsNoneOf(0, families.map(i32::unsigned_abs).to_vec());
        rules.when(libc::SYS_socket, vec![other], REFUSE);
        // Which addresses the machine has. Others of that family talk to other parts of the kernel.
        let netlink = Condition::Is(0, libc::AF_NETLINK.unsigned_abs());
        let other = Condition::IsNot(2, libc::NETLINK_ROUTE.unsigned_abs());
        rules.when(libc::SYS_socket, vec![netlink, other], REFUSE);
        // Others are seldom used, and the kernel loads what it needs for them.
        let internet = Condition::IsNot(0, libc::AF_NETLINK.unsigned_abs());
        let other = Condition::IsNoneOf(2, PROTOCOLS.map(i32::unsigned_abs).to_vec());
        rules.when(libc::SYS_socket, vec![internet, other], REFUSE);
        return;
    }
    rules.always(libc::SYS_socket, REFUSE);
    for number in OF_TRANSIT {
        rules.always(*number, REFUSE);
    }
    for option in BUFFER_SIZES {
        let of_sockets = Condition::Is(1, libc::SOL_SOCKET.unsigned_abs());
        let conditions = vec![of_sockets, Condition::Is(2, *option)];
        rules.when(libc::SYS_setsockopt, conditions, REFUSE);
    }
}

/// To open a file only for reading and truncate it is reading for old versions of Landlock.
fn refuse_truncating(rules: &mut Rules) {
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

/// What clone does not do: new namespaces, and children that are not the caller's but its parent's, which is us.
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

/// The usual ones of the internet: 0 is the one that belongs to the kind of socket.
const PROTOCOLS: [i32; 6] = [
    0,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_ICMPV6,
    libc::IPPROTO_MPTCP,
];

/// The rest of a socket's type are flags.
const SOCKET_KIND: u32 = 0xf;
