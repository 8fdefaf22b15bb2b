//! The user of an image's function, inside and outside of its namespace.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, Result};
use rustix::process::{DumpableBehavior, Gid, Uid, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_thread_res_gid, set_thread_res_uid,
};

use super::super::identity::Users;
use crate::image::FileRights;

/// The users that functions are outside of their namespaces.
pub(super) enum OutsideUsers {
    /// Each function has a user that nothing else uses.
    Own { users: Users, slots: Arc<UserSlots> },
    /// All are the user of this process.
    Ours,
}

/// The numbers of users: those that are free, and how many there are.
#[derive(Default)]
pub(super) struct UserSlots {
    state: Mutex<(Vec<u32>, u32)>,
}

impl OutsideUsers {
    /// Own users, if this process may start processes of other users and mount for them.
    pub(super) fn choose() -> OutsideUsers {
        let ours = capabilities(None).map(|sets| sets.effective);
        let may_mount = ours.is_ok_and(|ours| ours.contains(CapabilitySet::SYS_ADMIN));
        match may_mount && Users::can_be_used() {
            true => OutsideUsers::Own {
                users: Users::choose(),
                slots: Arc::default(),
            },
            false => OutsideUsers::Ours,
        }
    }

    /// The user of one run.
    pub(super) fn take(&self, inside: (u32, u32), rights: FileRights) -> FunctionUser {
        let (outside, slot) = match (self, rights) {
            (OutsideUsers::Ours, _) | (_, FileRights::Ours) => {
                ((geteuid().as_raw(), getegid().as_raw()), None)
            }
            (OutsideUsers::Own { users, slots }, FileRights::Least) => {
                let slot = UserSlot::take(slots);
                let user = users.nth(slot.number);
                ((user, user), Some(slot))
            }
        };
        let map = |inside: u32, outside: u32| format!("{inside} {outside} 1").into_bytes();
        FunctionUser {
            own: slot.as_ref().map(|_| outside.0),
            user_map: map(inside.0, outside.0),
            group_map: map(inside.1, outside.1),
            user: Uid::from_raw(inside.0),
            group: Gid::from_raw(inside.1),
            _slot: slot,
        }
    }
}

/// The number of a user while a run uses it.
struct UserSlot {
    number: u32,
    slots: Arc<UserSlots>,
}

impl UserSlot {
    fn take(slots: &Arc<UserSlots>) -> UserSlot {
        let mut state = slots.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (free, count) = &mut *state;
        let number = free.pop().unwrap_or_else(|| {
            *count += 1;
            *count - 1
        });
        UserSlot {
            number,
            slots: Arc::clone(slots),
        }
    }
}

impl Drop for UserSlot {
    fn drop(&mut self) {
        let mut state = self
            .slots
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.0.push(self.number);
    }
}

/// The user of one run.
pub(super) struct FunctionUser {
    /// The user outside, if it is not ours.
    pub(super) own: Option<u32>,
    user_map: Vec<u8>,
    group_map: Vec<u8>,
    user: Uid,
    group: Gid,
    /// Keeps the user from other runs.
    _slot: Option<UserSlot>,
}

impl FunctionUser {
    /// Maps the user into the user namespace of the calling process. For use in the child: only system calls.
    pub(super) fn map(&self) -> Result<()> {
        // Without it the kernel accepts no map of groups from an unprivileged process: a process that may drop groups
        // may get around files that are closed to a group.
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", &self.user_map)?;
        write(c"/proc/self/gid_map", &self.group_map)
    }

    /// Makes the calling process this user, without capabilities. For use in the child: only system calls.
    pub(super) fn become_user(&self) -> Result<()> {
        set_thread_res_gid(self.group, self.group, self.group)?;
        set_thread_res_uid(self.user, self.user, self.user)
    }
}

/// Drops all capabilities of the calling process for good. For use in the child: only system calls.
pub(super) fn drop_capabilities() -> Result<()> {
    // A process of the user 0 of a namespace gets all of them back on exec, as far as the bounding set has them.
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The kernel does not know the number, nor any above it.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets)
}

fn write(path: &CStr, text: &[u8]) -> Result<()> {
    let file = open_own(path)?;
    match rustix::io::write(file, text)? {
        length if length == text.len() => Ok(()),
        _ => Err(Errno::IO),
    }
}

/// How often to open a file of the own process. Each failure needs another process that changes its user in the very
/// moment between two system calls.
const OPEN_ATTEMPTS: usize = 1000;

/// Opens a file of the calling process in `/proc`. It belongs to root as long as the memory of the process is not
/// dumpable. Every change of user makes it so, also one of the parent or of another child that starts: until they execute
/// their programs, all of them share one memory.
fn open_own(path: &CStr) -> Result<OwnedFd> {
    let mut opened = Err(Errno::ACCESS);
    for _ in 0..OPEN_ATTEMPTS {
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        opened = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        if !matches!(opened, Err(Errno::ACCESS)) {
            break;
        }
    }
    opened
}
