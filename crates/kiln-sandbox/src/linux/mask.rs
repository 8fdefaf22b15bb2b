//! Blocks signals while a process is copied: no handler of the parent may run in the child.

use std::io;
use std::mem::MaybeUninit;

/// The signals that the calling thread blocked before; dropping this restores them.
pub(super) struct SignalMask {
    before: libc::sigset_t,
}

impl SignalMask {
    pub(super) fn block_all() -> io::Result<SignalMask> {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        #[expect(unsafe_code, reason = "no library does so")]
        // SAFETY: both are memory of the right type, sets of zeros are sets, and the mask is that of this thread alone.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            match libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) {
                0 => Ok(SignalMask {
                    before: before.assume_init(),
                }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Unblocks all signals.
    pub(super) fn none() -> io::Result<()> {
        let none = MaybeUninit::<libc::sigset_t>::zeroed();
        #[expect(unsafe_code, reason = "no library does so")]
        // SAFETY: a set of zeros is the empty set.
        let answer = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
        };
        match answer {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for SignalMask {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "no library does so")]
        // SAFETY: the set is the one that the system gave us.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            );
        }
    }
}
