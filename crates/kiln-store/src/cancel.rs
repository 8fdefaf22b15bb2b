//! Ends the blocking work of a pull after its callers gave up.
//!
//! Blocking work runs on threads that cannot be stopped. It checks a flag where it may take long: between pieces of a layer,
//! and while it waits for another process.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the result of some work is still needed. Clones share their state.
#[derive(Clone, Default, Debug)]
pub(crate) struct CancelFlag {
    is_set: Arc<AtomicBool>,
}

impl CancelFlag {
    /// Fails if the work is cancelled.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.is_set.load(Ordering::Relaxed) {
            true => Err(io::Error::other("the pull was cancelled")),
            false => Ok(()),
        }
    }
}

/// Cancels when it is dropped.
#[derive(Default, Debug)]
pub(crate) struct CancelOnDrop {
    pub(crate) flag: CancelFlag,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.flag.is_set.store(true, Ordering::Relaxed);
    }
}

/// A stream that ends with an error when it is cancelled.
pub(crate) struct CancelledReader<'a> {
    pub(crate) stream: &'a mut dyn Read,
    pub(crate) cancel: &'a CancelFlag,
}

impl Read for CancelledReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check()?;
        self.stream.read(buffer)
    }
}
