//! The list of system calls as a program for the kernel.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::support::Support;
use super::syscalls::{
    MISSING, NEWEST, OF_NETWORK, OF_OWNERS, OF_PRIORITIES, OF_PROCESSES, REFUSED,
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
    let mut program = missing_calls();
    program.extend(compiled.map_err(|error| SandboxError::Filter {
        reason: error.to_string(),
    })?);
    Ok(program)
}

/// Goes before the rules, which know one answer only. Jumps are relative, so programs can be put one after the other.
///
/// The numbers may be those of another architecture here; such calls are killed by the rules.
pub(super) fn missing_calls() -> BpfProgram {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const GREATER: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    // The number of the call comes first in what the kernel gives to filters.
    let mut program = vec![instruction(LOAD, 0, 0)];
    let mut answer = |comparison, number| {
        program.push(instruction(comparison, 1, number));
        program.push(instruction(RETURN, 0, missing));
    };
    answer(GREATER, NEWEST);
    for number in MISSING
        .iter()
        .filter_map(|number| u32::try_from(*number).ok())
    {
        answer(EQUAL, number);
    }
    program
}

fn instruction(code: u32, jump_if_false: u8, k: u32) -> sock_filter {
    sock_filter {
        // All codes are small.
        code: code as u16,
        jt: 0,
        jf: jump_if_false,
        k,
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The calls that are refused; without conditions always, else if all of one rule hold.
fn rules(
    support: &Support,
    allow_network: bool,
    owners: Owners,
) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let allowed: &[c_long] = if allow_network { OF_NETWORK } else { &[] };
    let refused = REFUSED.iter().filter(|number| !allowed.contains(number));
    for number in refused {
        rules.insert(*number, Vec::new());
    }
    let mut refuse_if = |number: c_long, conditions| -> Result<(), seccompiler::BackendError> {
        let rule = SeccompRule::new(conditions)?;
        rules.entry(number).or_default().push(rule);
        Ok(())
    };
    for namespace in NAMESPACES {
        refuse_if(libc::SYS_clone, vec![has_bits(0, namespace)?])?;
    }
    refuse_if(libc::SYS_prlimit64, vec![is_not(0, 0)?])?;
    for request in TERMINAL_INPUT {
        refuse_if(libc::SYS_ioctl, vec![is(1, request)?])?;
    }
    // Datagram sockets can be sent from to any address; the others of a pair are bound to each other.
    let kind = SeccompCmpOp::MaskedEq(SOCKET_KIND);
    let datagram = condition(1, kind, libc::SOCK_DGRAM)?;
    refuse_if(libc::SYS_socketpair, vec![datagram])?;
    if allow_network {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let others = families.map(|family| is_not(0, family));
        refuse_if(
            libc::SYS_socket,
            others.into_iter().collect::<Result<_, _>>()?,
        )?;
        // Which addresses the machine has. Others of that family talk to other parts of the kernel.
        let netlink = is(0, libc::AF_NETLINK)?;
        let other = is_not(2, libc::NETLINK_ROUTE)?;
        refuse_if(libc::SYS_socket, vec![netlink, other])?;
    } else {
        rules.insert(libc::SYS_socket, Vec::new());
    }
    if support.landlock < 3 {
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    if owners == Owners::Same {
        refuse_to_owners(&mut rules)?;
    }
    Ok(rules)
}

/// What the same user could do to the user's other files and processes.
fn refuse_to_owners(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    for number in OF_OWNERS {
        rules.insert(*number, Vec::new());
    }
    let by_argument = OF_PROCESSES.iter().map(|number| (*number, 0));
    let by_argument = by_argument.chain(OF_PRIORITIES.iter().map(|number| (*number, 1)));
    for (number, argument) in by_argument {
        let rule = SeccompRule::new(vec![is_not(argument, 0)?])?;
        rules.insert(number, vec![rule]);
    }
    // Times of a file by its name; without a name it is one that is open.
    let named = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![named])?]);
    Ok(())
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

/// `TIOCSTI` and `TIOCLINUX`: typing on a terminal in the user's place.
const TERMINAL_INPUT: [i32; 2] = [0x5412, 0x541c];

/// The rest of a socket's type are flags.
const SOCKET_KIND: u64 = 0xf;

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn is(argument: u8, value: i32) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> Condition {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn has_bits(argument: u8, bits: i32) -> Condition {
    let mask = u64::from(bits.unsigned_abs());
    condition(argument, SeccompCmpOp::MaskedEq(mask), bits)
}

/// The kernel looks at 32 bits of these arguments, and so do we.
fn condition(argument: u8, operator: SeccompCmpOp, value: i32) -> Condition {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
