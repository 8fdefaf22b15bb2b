//! The list of system calls as a program for the kernel.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::answers::{Answers, FAILS_AS_MISSING, FAILS_AS_UNSUPPORTED};
use super::commands::{BUFFER_SIZES, FCNTL, IOCTL, IOCTL_OF_NETWORK, PRCTL};
use super::support::Support;
use super::syscalls::{
    MISSING, NEWEST, OF_NETWORK, OF_OWNERS, OF_PRIORITIES, OF_PROCESSES, OF_TRANSIT, REFUSED,
    UNSUPPORTED,
};
use crate::measure::SandboxError;

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
    let compiled = rules(support, allow_network, owners).and_then(|rules| {
        let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?;
        BpfProgram::try_from(filter)
    });
    let mut program = answers(support, owners);
    program.extend(compiled.map_err(|error| SandboxError::Filter {
        reason: error.to_string(),
    })?);
    Ok(program)
}

/// What goes before the rules, which have one answer only.
fn answers(support: &Support, owners: Owners) -> BpfProgram {
    let mut answers = Answers::new();
    answers.above(NEWEST, FAILS_AS_MISSING);
    for number in MISSING {
        answers.call(*number, FAILS_AS_MISSING);
    }
    for number in UNSUPPORTED {
        answers.call(*number, FAILS_AS_UNSUPPORTED);
    }
    if support.landlock < RESTRICTS_TRUNCATING {
        // Its flags are in memory, and may ask for truncating.
        answers.call(libc::SYS_openat2, FAILS_AS_MISSING);
    }
    if owners == Owners::Same {
        // The times of an open file. The filter cannot see which file it is, and `touch`, `cp -p` and `tar` fail if they
        // cannot set times, in the private directory too: they are answered with success, and the times stay.
        answers.succeed_if_null(libc::SYS_utimensat, 1);
    }
    answers.into_program()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The calls that are refused; without conditions always, else if all of one rule hold.
fn rules(support: &Support, allow_network: bool, owners: Owners) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    let allowed: &[c_long] = if allow_network { OF_NETWORK } else { &[] };
    let refused = REFUSED.iter().filter(|number| !allowed.contains(number));
    for number in refused {
        rules.insert(*number, Vec::new());
    }
    for namespace in NAMESPACES {
        let bits = namespace.unsigned_abs();
        let has_bits = condition(0, SeccompCmpOp::MaskedEq(u64::from(bits)), bits)?;
        refuse_if(&mut rules, libc::SYS_clone, vec![has_bits])?;
    }
    refuse_by_process(&mut rules)?;
    refuse_by_command(&mut rules, allow_network)?;
    refuse_by_socket(&mut rules, allow_network)?;
    if support.landlock < RESTRICTS_TRUNCATING {
        rules.insert(libc::SYS_truncate, Vec::new());
        refuse_truncating_readers(&mut rules)?;
    }
    if owners == Owners::Same {
        for number in OF_OWNERS {
            rules.insert(*number, Vec::new());
        }
        // Of a file by its name. Of an open file see above.
        let named = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        refuse_if(&mut rules, libc::SYS_utimensat, vec![named])?;
    }
    Ok(rules)
}

/// A process may change itself, and no other.
fn refuse_by_process(rules: &mut Rules) -> Result<(), BackendError> {
    for number in OF_PROCESSES {
        refuse_if(rules, *number, vec![is_not(0, 0)?])?;
    }
    for (number, kind) in OF_PRIORITIES {
        refuse_if(rules, *number, vec![is_not(0, *kind)?])?;
        refuse_if(rules, *number, vec![is_not(1, 0)?])?;
    }
    Ok(())
}

fn refuse_by_command(rules: &mut Rules, allow_network: bool) -> Result<(), BackendError> {
    let mut requests = IOCTL.to_vec();
    if allow_network {
        requests.extend(IOCTL_OF_NETWORK);
    }
    for (number, argument, allowed) in [
        (libc::SYS_fcntl, 1, FCNTL),
        (libc::SYS_ioctl, 1, &requests),
        (libc::SYS_prctl, 0, PRCTL),
    ] {
        let others = allowed.iter().map(|value| is_not(argument, *value));
        refuse_if(rules, number, others.collect::<Result<_, _>>()?)?;
    }
    // A process that dies with its parent may say so again, and nothing else.
    let sets_signal = is(0, libc::PR_SET_PDEATHSIG.unsigned_abs())?;
    let kill = u64::from(libc::SIGKILL.unsigned_abs());
    let other = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, kill)?;
    refuse_if(rules, libc::SYS_prctl, vec![sets_signal, other])
}

fn refuse_by_socket(rules: &mut Rules, allow_network: bool) -> Result<(), BackendError> {
    // Datagram sockets can be sent from to any address; the others of a pair are bound to each other.
    let kind = SeccompCmpOp::MaskedEq(SOCKET_KIND);
    let datagram = condition(1, kind, libc::SOCK_DGRAM.unsigned_abs())?;
    refuse_if(rules, libc::SYS_socketpair, vec![datagram])?;
    if allow_network {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let others = families.map(|family| is_not(0, family.unsigned_abs()));
        let others = others.into_iter().collect::<Result<_, _>>()?;
        refuse_if(rules, libc::SYS_socket, others)?;
        // Which addresses the machine has. Others of that family talk to other parts of the kernel.
        let netlink = is(0, libc::AF_NETLINK.unsigned_abs())?;
        let other = is_not(2, libc::NETLINK_ROUTE.unsigned_abs())?;
        return refuse_if(rules, libc::SYS_socket, vec![netlink, other]);
    }
    rules.insert(libc::SYS_socket, Vec::new());
    for number in OF_TRANSIT {
        rules.insert(*number, Vec::new());
    }
    for option in BUFFER_SIZES {
        let of_sockets = is(1, libc::SOL_SOCKET.unsigned_abs())?;
        let conditions = vec![of_sockets, is(2, *option)?];
        refuse_if(rules, libc::SYS_setsockopt, conditions)?;
    }
    Ok(())
}

/// To open a file only for reading and truncate it is reading for old versions of Landlock.
fn refuse_truncating_readers(rules: &mut Rules) -> Result<(), BackendError> {
    let truncate = libc::O_TRUNC.unsigned_abs();
    let flags = SeccompCmpOp::MaskedEq(u64::from(truncate | libc::O_ACCMODE.unsigned_abs()));
    let conditions = |argument| Ok(vec![condition(argument, flags.clone(), truncate)?]);
    #[cfg(target_arch = "x86_64")]
    refuse_if(rules, libc::SYS_open, conditions(1)?)?;
    refuse_if(rules, libc::SYS_openat, conditions(2)?)
}

/// New namespaces of all kinds that clone makes.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The rest of a socket's type are flags.
const SOCKET_KIND: u64 = 0xf;

fn refuse_if(
    rules: &mut Rules,
    number: c_long,
    conditions: Vec<SeccompCondition>,
) -> Result<(), BackendError> {
    let rule = SeccompRule::new(conditions)?;
    rules.entry(number).or_default().push(rule);
    Ok(())
}

fn is(argument: u8, value: u32) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u32) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

/// The kernel looks at 32 bits of these arguments, and so does the filter.
fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u32,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())
}
