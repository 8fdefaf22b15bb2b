//! How many bytes of requests are in memory: coming in, waiting and running.
//!
//! Calls that wait are counted, but a thousand large ones are more than a machine has. So whoever announces a message
//! takes its bytes from a store, and gives them back when the call is over.

use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that may be taken.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// In blocks, because a semaphore counts no further than 32 bits at a time.
    blocks: Arc<Semaphore>,
}

/// Bytes that one call has taken. Clones are the same; the last one that is dropped gives them back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    permit: Arc<OnceLock<OwnedSemaphorePermit>>,
}

const BLOCK: usize = 1024;

impl Store {
    pub(crate) fn new(bytes: usize) -> Store {
        let blocks = bytes.div_ceil(BLOCK).min(Semaphore::MAX_PERMITS);
        Store {
            blocks: Arc::new(Semaphore::new(blocks)),
        }
    }

    /// Takes bytes for a call, once; says whether there were as many.
    pub(crate) fn take(&self, bytes: usize, held: &Held) -> bool {
        let blocks = u32::try_from(bytes.div_ceil(BLOCK)).unwrap_or(u32::MAX);
        match Arc::clone(&self.blocks).try_acquire_many_owned(blocks) {
            Ok(permit) => {
                // A message is announced once.
                let _ = held.permit.set(permit);
                true
            }
            Err(_) => false,
        }
    }
}
