//! A process that ends functions when this one is killed.
//!
//! The kernel kills a child whose parent dies, if the child asks for it, but not the child's own children. So one process
//! waits for the end of this one, and then kills the groups of all functions that were running. No function leaves its
//! group. The process is a copy of this one that makes system calls only, because other threads may have held locks when
//! it was copied; it shares nothing with this one but the list of groups.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_long, c_uint};
use rustix::process::{Pid, getpid};

use super::mask::SignalMask;

/// How many functions can be noted at the same time. More than those run without being noted, and are killed by the
/// kernel, without their children.
const PLACES: usize = 4096;

/// A place that is free, and one that was taken for a function that has not been started yet.
const FREE: i32 = 0;
const TAKEN: i32 = -1;

struct List {
    groups: &'static [AtomicI32; PLACES],
    /// The number of the process that reads the list.
    watcher: i32,
}

/// The list, if memory and process for it could be had.
fn list() -> Option<&'static List> {
    static LIST: OnceLock<Option<List>> = OnceLock::new();
    LIST.get_or_init(|| start().ok()).as_ref()
}

/// Starts the process, unless it runs already.
pub(super) fn ensure() {
    let _ = list();
}

/// The number of the process, if it was started. It is a child of this process that this process did not start as a
/// function.
pub(crate) fn watcher() -> Option<i32> {
    list().map(|list| list.watcher)
}

/// A place in the list for the group of one function. It is free again when this is dropped.
pub(super) struct Noted {
    place: Option<&'static AtomicI32>,
}

impl Noted {
    pub(super) fn take() -> Noted {
        let groups = list().map(|list| list.groups.iter());
        let place = groups.into_iter().flatten().find(|place| {
            let taken = place.compare_exchange(FREE, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
            taken.is_ok()
        });
        Noted { place }
    }

    /// Notes a group. For use in the child: the list is memory that it shares, like all memory, with its parent.
    pub(super) fn note(&self, leader: Pid) {
        if let Some(place) = self.place {
            place.store(leader.as_raw_nonzero().get(), Ordering::Relaxed);
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            place.store(FREE, Ordering::Relaxed);
        }
    }
}

fn start() -> io::Result<List> {
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
        Ok(watcher) if watcher > 0 => Ok(List { groups, watcher }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Memory that stays the same for the copy of this process.
fn shared_list() -> io::Result<&'static [AtomicI32; PLACES]> {
    #[expect(unsafe_code, reason = "no library of ours maps shared memory")]
    // SAFETY: the kernel chooses an address where nothing is, gives page-aligned memory of zeros for a whole list, and
    // nothing ever unmaps it. Zeros are numbers.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            size_of::<[AtomicI32; PLACES]>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        match memory {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            memory => Ok(&*memory.cast::<[AtomicI32; PLACES]>()),
        }
    }
}

/// What the process does: waits for the end of its parent, and kills.
fn watch(parent: c_int, groups: &[AtomicI32; PLACES]) -> ! {
    #[expect(
        unsafe_code,
        reason = "a copy of a process with threads may make system calls only"
    )]
    // SAFETY: numbers are passed, and the addresses of a text that ends with NUL and of one `pollfd`, which both outlive
    // the calls. The files that are closed are this process's own.
    unsafe {
        // Away from the terminal and from the group that a signal of the terminal ends.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        // Or pipes and locks of the parent's would stay open.
        let (first, last, no_flags) = (0 as c_long, c_long::from(c_uint::MAX), 0 as c_long);
        libc::syscall(libc::SYS_close_range, first, last, no_flags);
        libc::prctl(libc::PR_SET_NAME, c"kiln-watch".as_ptr());
        let end = libc::syscall(libc::SYS_pidfd_open, c_long::from(parent), no_flags);
        // If the parent has ended already, its number may be another's.
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
