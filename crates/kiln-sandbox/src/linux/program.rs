//! A filter of system calls as instructions for the kernel.
//!
//! The calls are a search tree. When a filter is installed, the kernel follows it once for every call that there is, and
//! compiles it: with the calls one after the other that takes longer than all other steps of confining a process.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{BpfProgram, sock_filter};

/// The answers that calls get, if all conditions of a rule hold; the first such rule counts.
pub(super) struct Rules {
    /// The answer to all other calls.
    otherwise: u32,
    calls: BTreeMap<u32, Vec<Rule>>,
}

struct Rule {
    conditions: Vec<Condition>,
    answer: u32,
}

/// What holds for an argument of a call. Of most arguments the kernel looks at 32 bits, and so does the filter.
pub(super) enum Condition {
    Is(u32, u32),
    IsNot(u32, u32),
    IsNoneOf(u32, Vec<u32>),
    /// Of the bits in the second number, those of the third are set and the others are not.
    HasBits(u32, u32, u32),
    /// With all 64 bits.
    WideIsNull(u32),
    WideIsNot(u32, u32),
}

/// Where the number of the call, the architecture and the arguments are in the kernel's `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// `AUDIT_ARCH_X86_64` or `AUDIT_ARCH_AARCH64`; both are little-endian.
const OURS: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else {
    0xc000_00b7
};

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const GREATER: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const NOT_LESS: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Fewer calls than that are compared one by one.
const LEAF: usize = 3;

/// The answer that lets a call pass.
pub(super) const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

impl Rules {
    /// No rules: all calls get the same answer.
    pub(super) fn otherwise(answer: u32) -> Rules {
        Rules {
            otherwise: answer,
            calls: BTreeMap::new(),
        }
    }

    /// A call gets the answer whatever its arguments are.
    pub(super) fn always(&mut self, call: c_long, answer: u32) {
        self.when(call, Vec::new(), answer);
    }

    /// A call gets the answer if all conditions hold.
    pub(super) fn when(&mut self, call: c_long, conditions: Vec<Condition>, answer: u32) {
        if let Ok(number) = u32::try_from(call) {
            let rules = self.calls.entry(number).or_default();
            rules.push(Rule { conditions, answer });
        }
    }

    /// The instructions. Calls above `newest` get `answer`; a process that calls in the way of another architecture is
    /// killed.
    pub(super) fn compile(&self, newest: u32, answer: u32) -> BpfProgram {
        let mut program = vec![
            instruction(LOAD, ARCHITECTURE),
            branch(EQUAL, OURS, 1, 0),
            instruction(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
            instruction(LOAD, NUMBER),
            branch(GREATER, newest, 0, 1),
            instruction(RETURN, answer),
        ];
        let blocks = self.calls.iter();
        let blocks = blocks.map(|(call, rules)| (*call, block(rules, self.otherwise)));
        let blocks: Vec<_> = blocks.collect();
        program.extend(tree(&blocks, self.otherwise));
        program
    }
}

/// Finds the call, whose number is loaded, and goes to its block.
fn tree(blocks: &[(u32, BpfProgram)], otherwise: u32) -> BpfProgram {
    if blocks.len() > LEAF {
        let (left, right) = blocks.split_at(blocks.len() / 2);
        let first = right.first().map_or(0, |(call, _)| *call);
        let (left, right) = (tree(left, otherwise), tree(right, otherwise));
        let mut program = vec![branch(NOT_LESS, first, 0, 1), jump(left.len())];
        program.extend(left);
        program.extend(right);
        return program;
    }
    let mut program = Vec::new();
    for (call, block) in blocks {
        program.extend([branch(EQUAL, *call, 1, 0), jump(block.len())]);
        program.extend(block.iter().cloned());
    }
    program.push(instruction(RETURN, otherwise));
    program
}

/// The rules of one call.
fn block(rules: &[Rule], otherwise: u32) -> BpfProgram {
    let mut program = Vec::new();
    for rule in rules {
        program.extend(rule_instructions(rule));
    }
    if rules.iter().all(|rule| !rule.conditions.is_empty()) {
        program.push(instruction(RETURN, otherwise));
    }
    program
}

/// When a comparison leads to the end of its rule.
#[derive(Clone, Copy, PartialEq)]
enum Fails {
    Never,
    IfTrue,
    IfFalse,
}

fn rule_instructions(rule: &Rule) -> BpfProgram {
    let mut code = Vec::new();
    for condition in &rule.conditions {
        code.extend(condition_instructions(condition));
    }
    code.push((instruction(RETURN, rule.answer), Fails::Never));
    let length = code.len();
    let resolved = code.into_iter().enumerate().map(|(at, (mut code, fails))| {
        // A rule is much shorter than the 255 instructions that can be jumped over; if it were not, the answer, which
        // refuses, would count for more than it should, not for less.
        let end = u8::try_from(length - at - 1).unwrap_or_default();
        match fails {
            Fails::Never => {}
            Fails::IfTrue => code.jt = end,
            Fails::IfFalse => code.jf = end,
        }
        code
    });
    resolved.collect()
}

fn condition_instructions(condition: &Condition) -> Vec<(sock_filter, Fails)> {
    let low = |argument: &u32| (instruction(LOAD, ARGUMENTS + 8 * argument), Fails::Never);
    let high = |argument: &u32| {
        (
            instruction(LOAD, ARGUMENTS + 8 * argument + 4),
            Fails::Never,
        )
    };
    let equals = |value: &u32, fails| (instruction(EQUAL, *value), fails);
    match condition {
        Condition::Is(argument, value) => vec![low(argument), equals(value, Fails::IfFalse)],
        Condition::IsNot(argument, value) => vec![low(argument), equals(value, Fails::IfTrue)],
        Condition::IsNoneOf(argument, values) => {
            let values = values.iter().map(|value| equals(value, Fails::IfTrue));
            [low(argument)].into_iter().chain(values).collect()
        }
        Condition::HasBits(argument, mask, value) => vec![
            low(argument),
            (instruction(AND, *mask), Fails::Never),
            equals(value, Fails::IfFalse),
        ],
        Condition::WideIsNull(argument) => vec![
            low(argument),
            equals(&0, Fails::IfFalse),
            high(argument),
            equals(&0, Fails::IfFalse),
        ],
        // The upper half is compared only if the lower one is the same.
        Condition::WideIsNot(argument, value) => vec![
            low(argument),
            (branch(EQUAL, *value, 0, 2), Fails::Never),
            high(argument),
            equals(&0, Fails::IfTrue),
        ],
    }
}

fn instruction(code: u32, k: u32) -> sock_filter {
    branch(code, k, 0, 0)
}

fn jump(length: usize) -> sock_filter {
    // A filter has at most 4096 instructions.
    instruction(JUMP, u32::try_from(length).unwrap_or_default())
}

fn branch(code: u32, k: u32, jump_if_true: u8, jump_if_false: u8) -> sock_filter {
    sock_filter {
        // All codes are small.
        code: code as u16,
        jt: jump_if_true,
        jf: jump_if_false,
        k,
    }
}
