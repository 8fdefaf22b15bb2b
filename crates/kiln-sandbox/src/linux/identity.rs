//! The user of a function.
//!
//! A process of root is bound by no limit on processes and may change the mode of every file, whatever Landlock allows,
//! so a function of root gets its own user from a range that nothing else uses.

use std::hash::{BuildHasher, Hasher, RandomState};

use rustix::io::Result;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_keep_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

/// Above the ranges in systemd's list of users, and below 2³¹, where some programs fail.
const FIRST: u32 = 0x7000_0000;
const LAST: u32 = 0x7fff_ffff;

/// Number of users of a sandbox.
const COUNT: u32 = 1024;

/// The users of a sandbox. They are chosen at random, so that sandboxes in containers that do not see each other rarely
/// have the same: the kernel counts the processes of a user in all of them together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Users {
    first: u32,
}

impl Users {
    pub(super) fn choose() -> Users {
        let ranges = u64::from((LAST - FIRST) / COUNT);
        let chance = RandomState::new().build_hasher().finish() % ranges;
        let range = u32::try_from(chance).unwrap_or_default();
        Users {
            first: FIRST + range * COUNT,
        }
    }

    /// Users repeat only with more concurrent functions than are realistic.
    pub(super) fn nth(self, number: u32) -> u32 {
        self.first + number % COUNT
    }

    /// Whether this process may start processes of other users, and kill them.
    pub(super) fn can_be_used() -> bool {
        let needed = CapabilitySet::CHOWN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::DAC_READ_SEARCH
            | CapabilitySet::FOWNER
            | CapabilitySet::KILL
            | CapabilitySet::SETGID
            | CapabilitySet::SETUID;
        let ours = capabilities(None).map(|sets| sets.effective);
        let may = ours.is_ok_and(|ours| ours.contains(needed));
        may && is_mapped("/proc/self/uid_map") && is_mapped("/proc/self/gid_map")
    }
}

/// The user of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Identity {
    /// The same user, without capabilities.
    Same,
    /// A separate user, and its access to the program.
    Other(u32, ProgramAccess),
}

/// The access of another user to a program. Landlock, whose rules do not depend on users, limits what that user
/// reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProgramAccess {
    /// All users can read and execute it.
    Public,
    /// It needs the right to search directories and read files.
    Restricted,
    /// In addition, it needs the right to execute the file. That right ends when the file is executed.
    NotExecutable,
}

impl Identity {
    /// Whether it has rights on our files: the filter then has to refuse what Landlock does not restrict.
    pub(super) fn shares_our_files(self) -> bool {
        self == Identity::Same
    }

    /// Makes the calling process, which has one thread, this user. For use in the child: only system calls.
    pub(super) fn take(self) -> Result<()> {
        let Identity::Other(number, program_access) = self else {
            return set_capabilities(None, only(CapabilitySet::empty()));
        };
        // Exec drops what the ambient set does not have, and checks the rights of the process before exec.
        let (ambient, until_exec) = match program_access {
            ProgramAccess::Public => (CapabilitySet::empty(), CapabilitySet::empty()),
            ProgramAccess::Restricted => (CapabilitySet::DAC_READ_SEARCH, CapabilitySet::empty()),
            ProgramAccess::NotExecutable => {
                (CapabilitySet::DAC_READ_SEARCH, CapabilitySet::DAC_OVERRIDE)
            }
        };
        let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_keep_capabilities(!ambient.is_empty())?;
        set_thread_res_uid(user, user, user)?;
        if ambient.is_empty() {
            return Ok(());
        }
        let sets = CapabilitySets {
            inheritable: ambient,
            ..only(ambient | until_exec)
        };
        set_capabilities(None, sets)?;
        configure_capability_in_ambient_set(ambient, true)
    }
}

fn only(set: CapabilitySet) -> CapabilitySets {
    CapabilitySets {
        effective: set,
        permitted: set,
        inheritable: set,
    }
}

/// Whether our user namespace maps the whole range.
fn is_mapped(path: &str) -> bool {
    let map = std::fs::read_to_string(path).unwrap_or_default();
    map.lines().any(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return false;
        };
        first <= u64::from(FIRST) && first + count > u64::from(LAST)
    })
}
