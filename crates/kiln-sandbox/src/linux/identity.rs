//! Whose rights a function has.
//!
//! A process of root's is bound by no limit on processes and may change the mode of every file, whatever Landlock says,
//! so a function of root's gets a user of its own: one that nobody else is, from a range that no other reaches.

use std::hash::{BuildHasher, Hasher, RandomState};

use rustix::io::Result;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_keep_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

/// Above what systemd's list of user ranges gives to anybody, and below 2³¹, where some programs stumble.
const FIRST: u32 = 0x7000_0000;
const LAST: u32 = 0x7fff_ffff;

/// How many users a sandbox has.
const COUNT: u32 = 1024;

/// The users of a sandbox. Which, is left to chance, so that sandboxes in containers that do not see each other seldom
/// have the same: the kernel counts the processes of a user in all of them together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Users {
    first: u32,
}

impl Users {
    /// Some of the range.
    pub(super) fn choose() -> Users {
        let ranges = u64::from((LAST - FIRST) / COUNT);
        let chance = RandomState::new().build_hasher().finish() % ranges;
        let range = u32::try_from(chance).unwrap_or_default();
        Users {
            first: FIRST + range * COUNT,
        }
    }

    /// Only those who run more functions at the same time than anybody does get a user twice.
    pub(super) fn nth(self, number: u32) -> u32 {
        self.first + number % COUNT
    }

    /// Whether we may make processes other users', and look after them then.
    pub(super) fn are_ours_to_give() -> bool {
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

/// Who a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Identity {
    /// The same user, without capabilities.
    Same,
    /// A user of its own, and what it needs to get at its program.
    Other(u32, Passage),
}

/// What another user needs to get at a program. Where it gets with that is Landlock's business, whose rules know no
/// users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passage {
    /// Nothing: it is open to everybody.
    Open,
    /// To pass directories and read files that are closed to others.
    Closed,
    /// To execute a file as well that others may not. The right to do so ends when that file is executed.
    Locked,
}

impl Identity {
    /// Whether it has rights on files that are ours: then what Landlock lets pass has to be refused by the filter.
    pub(super) fn shares_our_files(self) -> bool {
        self == Identity::Same
    }

    /// Makes the calling process, which has one thread, this user. For use in the child: only system calls.
    pub(super) fn take(self) -> Result<()> {
        let Identity::Other(number, passage) = self else {
            return set_capabilities(None, only(CapabilitySet::empty()));
        };
        // What the ambient set does not have is lost by exec, which checks the rights of the process that it ends.
        let (ambient, until_exec) = match passage {
            Passage::Open => (CapabilitySet::empty(), CapabilitySet::empty()),
            Passage::Closed => (CapabilitySet::DAC_READ_SEARCH, CapabilitySet::empty()),
            Passage::Locked => (CapabilitySet::DAC_READ_SEARCH, CapabilitySet::DAC_OVERRIDE),
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

/// Whether our user namespace has the whole range.
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
