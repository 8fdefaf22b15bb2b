//! Opens files as another user.

use std::marker::PhantomData;

use libc::c_long;
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySets, capabilities, set_capabilities};

/// While this exists, the calling thread opens files as another user. Processes show their open files to their own
/// user, and to root only if root may trace them, which it may not in most containers.
pub(super) struct FileUser {
    /// It belongs to one thread.
    _not_send: PhantomData<*const ()>,
}

impl FileUser {
    /// Switches to the user, and to the group with the same ID. Does nothing without the right to do so.
    pub(super) fn take(user: u32) -> FileUser {
        set(user, user);
        // The kernel drops the rights on files of a thread that is no longer root for files. The processes to inspect
        // may have one of them, and are hidden from threads that have less.
        if let Ok(ours) = capabilities(None) {
            let effective = ours.permitted;
            let _ = set_capabilities(None, CapabilitySets { effective, ..ours });
        }
        FileUser {
            _not_send: PhantomData,
        }
    }
}

impl Drop for FileUser {
    fn drop(&mut self) {
        set(geteuid().as_raw(), getegid().as_raw());
    }
}

fn set(user: u32, group: u32) {
    #[expect(unsafe_code, reason = "no library sets them for one thread")]
    // SAFETY: two numbers are passed, and only the calling thread is changed. The group comes first or last with the
    // user that has the right to change it; a call without that right changes nothing.
    unsafe {
        libc::syscall(libc::SYS_setfsgid, c_long::from(group));
        libc::syscall(libc::SYS_setfsuid, c_long::from(user));
        libc::syscall(libc::SYS_setfsgid, c_long::from(group));
    }
}
