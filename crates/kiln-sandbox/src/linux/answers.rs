//! Instructions that answer single calls before the rules of the filter, which refuse all that they refuse with one error.
//!
//! Jumps are relative, so programs can be put one after the other. The numbers may be those of another architecture here:
//! such calls get an answer or are killed by the rules, and are never made.

use libc::c_long;
use seccompiler::{BpfProgram, sock_filter};

/// The answer of a kernel that does not have the call.
pub(super) const FAILS_AS_MISSING: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The answer of a file system that does not have the feature.
pub(super) const FAILS_AS_UNSUPPORTED: u32 = libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32;

/// An error that is none: the caller sees success.
const SUCCEEDS: u32 = libc::SECCOMP_RET_ERRNO;

/// Where the number of the call and its arguments are in the kernel's `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const GREATER: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Instructions; before and after each answer the number of the call is loaded.
pub(super) struct Answers {
    program: BpfProgram,
}

impl Answers {
    pub(super) fn new() -> Answers {
        Answers {
            program: vec![instruction(LOAD, 0, NUMBER)],
        }
    }

    /// Answers all calls with a greater number.
    pub(super) fn above(&mut self, number: u32, answer: u32) {
        self.program.push(instruction(GREATER, 1, number));
        self.program.push(instruction(RETURN, 0, answer));
    }

    /// Answers a call.
    pub(super) fn call(&mut self, number: c_long, answer: u32) {
        let Ok(number) = u32::try_from(number) else {
            return;
        };
        self.program.push(instruction(EQUAL, 1, number));
        self.program.push(instruction(RETURN, 0, answer));
    }

    /// Lets a call succeed, without making it, if a pointer among its arguments is null.
    pub(super) fn succeed_if_null(&mut self, number: c_long, argument: u32) {
        let Ok(number) = u32::try_from(number) else {
            return;
        };
        let half = ARGUMENTS + 8 * argument;
        self.program.extend([
            instruction(EQUAL, 6, number),
            instruction(LOAD, 0, half),
            instruction(EQUAL, 3, 0),
            instruction(LOAD, 0, half + 4),
            instruction(EQUAL, 1, 0),
            instruction(RETURN, 0, SUCCEEDS),
            instruction(LOAD, 0, NUMBER),
        ]);
    }

    pub(super) fn into_program(self) -> BpfProgram {
        self.program
    }
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
