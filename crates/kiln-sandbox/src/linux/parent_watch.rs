//! A process that kills functions when this one is killed.
//!
//! The kernel kills a child whose parent dies, if the child asks for it, but not the child's own children. So one
//! process waits for the exit of this one, and then kills the groups of all running functions. No function leaves its
//! group. The process is a copy of this one that only makes system calls, because other threads may have held locks
//! when it was copied; it shares only the list of groups with this one.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_long, c_uint};
use rustix::process::{Pid, getpid};

use super::mask::SignalMask;

/// Maximum number of recorded functions. Further functions run unrecorded; the kernel kills them without their
/// children.
const MAX_GROUPS: usize = 4096;

/// A free entry, and one that is reserved for a function that has not started yet.
const FREE: i32 = 0;
const TAKEN: i32 = -1;

struct GroupList {
    groups: &'static [AtomicI32; MAX_GROUPS],
    /// The ID of the process that reads the list.
    watcher: i32,
}

/// The list, if memory and process could be made.
fn list() -> Option<&'static GroupList> {
    static LIST: OnceLock<Option<GroupList>> = OnceLock::new();
    LIST.get_or_init(|| start().ok()).as_ref()
}

/// Starts the process, unless it runs already.
pub(super) fn ensure() {
    let _ = list();
}

/// The ID of the process, if it was started. It is a child of this process, but not a function.
pub(crate) fn watcher() -> Option<i32> {
    list().map(|list| list.watcher)
}

/// The entry of one function's group. Dropping this frees it.
pub(super) struct GroupEntry {
    entry: Option<&'static AtomicI32>,
}

impl GroupEntry {
    pub(super) fn take() -> GroupEntry {
        let groups = list().map(|list| list.groups.iter());
        let entry = groups.into_iter().flatten().find(|entry| {
            let taken = entry.compare_exchange(FREE, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
            taken.is_ok()
        });
        GroupEntry { entry }
    }

    /// Records a group. For use in the child: the list is shared with the parent, like all memory.
    pub(super) fn note(&self, leader: Pid) {
        if let Some(entry) = self.entry {
            entry.store(leader.as_raw_nonzero().get(), Ordering::Relaxed);
        }
    }
}

impl Drop for GroupEntry {
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            entry.store(FREE, Ordering::Relaxed);
        }
    }
}

fn start() -> io::Result<GroupList> {
    let groups = shared_list()?;
    let parent = getpid().as_raw_nonzero().get();
    let mask = SignalMask::block_all()?;
    #[expect(unsafe_code, reason = "no library copies a process")]
    // SAFETY: without flags this is a fork: the child has a copy of this memory and this stack. It makes system calls
    // only, none of which allocates or locks, and ends without returning. Signals are blocked, so that no handler of
    // the parent's runs in it. Without a signal for its end, those that wait for children do not see it.
    let answer = unsafe {
        let no_flags: c_long = 0;
        libc::syscall(
            libc::SYS_clone,
            no_flags,
            no_flags,
            no_flags,
            no_flags,
            no_flags,
        )
    };
    if answer == 0 {
        watch(parent, groups);
    }
    drop(mask);
    match i32::try_from(answer) {
        Ok(watcher) if watcher > 0 => Ok(GroupList { groups, watcher }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Memory that the copy of this process shares.
fn shared_list() -> io::Result<&'static [AtomicI32; MAX_GROUPS]> {
    #[expect(unsafe_code, reason = "no library of ours maps shared memory")]
    // SAFETY: the kernel chooses an address where nothing is, gives page-aligned memory of zeros for a whole list, and
    // nothing ever unmaps it. Zeros are numbers.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            size_of::<[AtomicI32; MAX_GROUPS]>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        match memory {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            memory => Ok(&*memory.cast::<[AtomicI32; MAX_GROUPS]>()),
        }
    }
}

/// The main function of the process: waits for the exit of its parent, and kills.
fn watch(parent: c_int, groups: &[AtomicI32; MAX_GROUPS]) -> ! {
    #[expect(
        unsafe_code,
        reason = "a copy of a process with threads may make system calls only"
    )]
    // SAFETY: numbers are passed, and the addresses of a text that ends with NUL and of one `pollfd`, which both outlive
    // the calls. The files that are closed are this process's own.
    unsafe {
        // Leaves the terminal and the group that signals of the terminal reach.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        // Otherwise pipes and locks of the parent would stay open.
        let (first, last, no_flags) = (0 as c_long, c_long::from(c_uint::MAX), 0 as c_long);
        libc::syscall(libc::SYS_close_range, first, last, no_flags);
        libc::prctl(libc::PR_SET_NAME, c"kiln-watch".as_ptr());
        let end = libc::syscall(libc::SYS_pidfd_open, c_long::from(parent), no_flags);
        // If the parent has exited already, its ID may be used again.
        if libc::getppid() == parent
            && let Ok(end) = c_int::try_from(end)
            && end >= 0
        {
            let mut waiting = libc::pollfd {
                fd: end,
                events: libc::POLLIN,
                revents: 0,
            };
            while libc::poll(&raw mut waiting, 1, -1) < 0 {}
        }
        if libc::getppid() != parent {
            for group in groups {
                let leader = group.load(Ordering::Relaxed);
                if leader > 1 {
                    libc::kill(-leader, libc::SIGKILL);
                }
            }
        }
        libc::_exit(0)
    }
}
