//! Any system call, by its number.

use std::io;

use libc::c_long;

/// Makes a system call. Memory is passed by the addresses of `bytes`, which take the places that are `None`.
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
    // SAFETY: the calls of this program only read from the memory that they are given, which outlives the call, and
    // whose length they are told or which ends with NUL.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// What a system call is given.
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
