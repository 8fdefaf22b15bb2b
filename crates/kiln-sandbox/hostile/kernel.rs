//! Any system call, by its number.

use std::io;

use libc::c_long;

/// Makes a system call. Memory is passed by the addresses of `bytes`, in the positions that are `None`.
pub(crate) fn call(number: c_long, arguments: &[Argument<'_>]) -> io::Result<c_long> {
    let mut words = [0; 6];
    for (word, argument) in words.iter_mut().zip(arguments) {
        *word = match argument {
            Argument::Number(number) => *number,
            Argument::Bytes(bytes) => bytes.as_ptr() as c_long,
        };
    }
    let [a, b, c, d, e, f] = words;
    #[expect(unsafe_code, reason = "what is to be tried is what no library offers")]
    // SAFETY: the calls of this program only read from the memory that they are given, or write to memory that is large
    // enough for it. It outlives the call, and its length is passed too or it ends with NUL.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// Asks for the number of the process in the way of 32-bit programs.
#[cfg(target_arch = "x86_64")]
pub(crate) fn old_call() {
    #[expect(unsafe_code, reason = "what is to be tried is what no library offers")]
    // SAFETY: the call, `getpid`, takes nothing and changes nothing but the register of its answer and those that the
    // kernel clears.
    unsafe {
        core::arch::asm!(
            "int 0x80",
            inlateout("rax") 20_u64 => _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
}

/// Maps memory that nothing is reserved for; its address.
pub(crate) fn map(size: usize, protection: i32) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    #[expect(unsafe_code, reason = "no library maps memory without using it")]
    // SAFETY: the kernel chooses an address where nothing is.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    match memory {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        memory => Ok(memory as usize),
    }
}

/// Reads one byte in each part of memory that was mapped to be read.
pub(crate) fn read_each(memory: usize, size: usize, part: usize) {
    for offset in (0..size).step_by(part) {
        #[expect(unsafe_code, reason = "what is to be tried is what no library offers")]
        // SAFETY: the address is inside of what `map` has mapped, which stays, and all of it is zeros.
        unsafe {
            ((memory + offset) as *const u8).read_volatile();
        }
    }
}

/// An argument of a system call.
pub(crate) enum Argument<'a> {
    Number(c_long),
    Bytes(&'a [u8]),
}

impl From<i32> for Argument<'_> {
    fn from(number: i32) -> Self {
        Argument::Number(number.into())
    }
}

impl<'a> From<&'a [u8]> for Argument<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Argument::Bytes(bytes)
    }
}
