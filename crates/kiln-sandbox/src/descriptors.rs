//! Open files that child processes must not inherit.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;

use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};

/// Marks every open file but the standard three to be closed on exec.
///
/// Rust opens files that way already. It does not know the files that this process inherited: sockets, locks, pipes of
/// a shell or of a CI runner. Where open files cannot be listed, nothing is done.
pub fn close_descriptors_on_exec() -> io::Result<()> {
    // One call for all, where the kernel has it.
    #[cfg(target_os = "linux")]
    if crate::linux::close_all_descriptors_on_exec().is_ok() {
        return Ok(());
    }
    let directory = if cfg!(target_os = "linux") {
        "/proc/self/fd"
    } else {
        "/dev/fd"
    };
    let Ok(entries) = Path::new(directory).read_dir() else {
        return Ok(());
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for number in names.filter_map(|name| name.parse::<RawFd>().ok()) {
        if number > 2 {
            keep(number)?;
        }
    }
    Ok(())
}

fn keep(number: RawFd) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "what was inherited has no owner to borrow it from"
    )]
    // SAFETY: the number is not -1. The descriptor was open a moment ago; if another thread has closed it since, the
    // system reports it below, and if it has been given to another file, that one is Rust's and has the flag already.
    // Nothing is read, written or closed through it.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = match fcntl_getfd(descriptor) {
        Ok(flags) if flags.contains(FdFlags::CLOEXEC) => return Ok(()),
        Ok(flags) => flags,
        Err(Errno::BADF) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    match fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC) {
        Ok(()) | Err(Errno::BADF) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
