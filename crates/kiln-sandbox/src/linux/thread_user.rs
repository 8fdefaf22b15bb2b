//! The calling thread as another user, for the moment in which it makes a user namespace.
//!
//! A process in a new user namespace may map one ID of the namespace around it: that of the user that made the
//! namespace. To map an ID of its own to a function, root has to be that user when it makes the namespace.

use std::marker::PhantomData;

use rustix::io::Result;
use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::{
    CapabilitySets, capabilities, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

/// While this exists, the effective user and group of the calling thread are others, and it has no further groups. Real
/// and saved IDs stay, so that it can change back and no other process gets rights on it.
pub(super) struct ThreadUser {
    user: Uid,
    group: Gid,
    groups: Vec<Gid>,
    /// It belongs to one thread.
    _not_send: PhantomData<*const ()>,
}

impl ThreadUser {
    /// Becomes the user and the group with the same ID. Needs the rights to change both.
    pub(super) fn take(user: u32) -> Result<ThreadUser> {
        let before = ThreadUser {
            user: geteuid(),
            group: getegid(),
            groups: getgroups()?,
            _not_send: PhantomData,
        };
        set_thread_groups(&[])?;
        // From here on, dropping it changes back.
        set_thread_res_gid(None, Gid::from_raw(user), None)?;
        set_thread_res_uid(None, Uid::from_raw(user), None)?;
        // The kernel has made the rights ineffective with the change. AppArmor restricts user namespaces of processes
        // without them.
        let ours = capabilities(None)?;
        let effective = ours.permitted;
        set_capabilities(None, CapabilitySets { effective, ..ours })?;
        Ok(before)
    }
}

impl Drop for ThreadUser {
    fn drop(&mut self) {
        // The saved user may always be taken back, and with it the rights to do the rest.
        let _ = set_thread_res_uid(None, self.user, None);
        let _ = set_thread_res_gid(None, self.group, None);
        let _ = set_thread_groups(&self.groups);
    }
}
