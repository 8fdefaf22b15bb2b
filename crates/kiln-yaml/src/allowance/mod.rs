//! A bound on the memory of the documents that one call makes and changes.
//!
//! A thread enters an [`Allowance`]; until the guard is dropped, every document that the thread makes, copies or changes
//! takes the bytes it grows by from the allowance and returns them when it is dropped. No caller can forget to charge a
//! document, because documents find the allowance on their own. Invariant: once a document needs more than is left, the
//! allowance stays exceeded and documents store no more text and no more copies, so that memory stays bounded although no
//! edit returns an error. The caller checks [`Allowance::is_exceeded`] and discards the documents.
//!
//! Without an entered allowance nothing is counted.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many bytes a document takes at least at a time, so that a small edit rarely touches the shared counter.
const STEP: u64 = 256;

thread_local! {
    /// Whether there is an allowance: cheap to read on every edit.
    static IS_ENTERED: Cell<bool> = const { Cell::new(false) };
    static ENTERED: RefCell<Option<Arc<Allowance>>> = const { RefCell::new(None) };
}

/// The bytes that one call may use, shared by all its documents.
#[derive(Debug)]
pub struct Allowance {
    limit: u64,
    used: AtomicU64,
    is_exceeded: AtomicBool,
    /// When the call has ended, its documents live on without a limit.
    is_closed: AtomicBool,
}

/// Ends the use of an allowance by a thread when dropped; documents that are left are free to grow.
#[derive(Debug)]
#[must_use = "the allowance counts only until this is dropped"]
pub struct EnteredAllowance {
    allowance: Arc<Allowance>,
    previous: Option<Arc<Allowance>>,
    /// The guard belongs to its thread.
    not_send: PhantomData<Rc<()>>,
}

impl Allowance {
    /// An allowance of this many bytes.
    pub fn new(limit: u64) -> Arc<Allowance> {
        Arc::new(Allowance {
            limit,
            used: AtomicU64::new(0),
            is_exceeded: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    /// The allowance that this thread has entered.
    pub fn current() -> Option<Arc<Allowance>> {
        match IS_ENTERED.get() {
            true => ENTERED.with_borrow(Clone::clone),
            false => None,
        }
    }

    /// Counts the documents of this thread until the guard is dropped.
    pub fn enter(self: &Arc<Allowance>) -> EnteredAllowance {
        let previous = ENTERED.replace(Some(Arc::clone(self)));
        IS_ENTERED.set(true);
        EnteredAllowance {
            allowance: Arc::clone(self),
            previous,
            not_send: PhantomData,
        }
    }

    /// Takes bytes for something that is about to be stored; returns false if not enough are left, and then it must not
    /// be stored.
    pub fn take(&self, bytes: u64) -> bool {
        if self.is_exceeded() {
            return false;
        }
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        if used.saturating_add(bytes) <= self.limit {
            return true;
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.is_exceeded.store(true, Ordering::Relaxed);
        false
    }

    /// Returns bytes that were taken.
    pub fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How many bytes can still be taken.
    pub fn left(&self) -> u64 {
        match self.is_exceeded() {
            true => 0,
            false => self.limit.saturating_sub(self.used()),
        }
    }

    /// How many bytes there were at the beginning.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many bytes are in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether more was requested than was left. This never changes back.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

impl Drop for EnteredAllowance {
    fn drop(&mut self) {
        self.allowance.is_closed.store(true, Ordering::Relaxed);
        IS_ENTERED.set(self.previous.is_some());
        ENTERED.set(self.previous.take());
    }
}

/// Whether this thread may build a text of this many bytes that it drops soon. If not, its allowance is exceeded, and the
/// caller goes on with no text.
pub fn may_build(bytes: usize) -> bool {
    ask(|allowance| {
        let may = allowance.take(bytes as u64);
        if may {
            allowance.give_back(bytes as u64);
        }
        may
    })
}

/// Takes bytes from the allowance of this thread for something that is not a document and stays until the call ends.
pub fn take_for_good(bytes: usize) -> bool {
    ask(|allowance| allowance.take(bytes as u64))
}

/// Applies the test to the allowance of this thread; true without an allowance.
fn ask(question: impl FnOnce(&Allowance) -> bool) -> bool {
    !IS_ENTERED.get() || ENTERED.with_borrow(|entered| entered.as_deref().is_none_or(question))
}

/// What one document has taken.
#[derive(Debug, Default)]
pub(crate) struct Charge {
    allowance: Option<Arc<Allowance>>,
    taken: u64,
    /// The part of it that is not used yet.
    spare: u64,
}

impl Charge {
    /// The charge of a new document of this size.
    pub(crate) fn of(bytes: usize) -> Charge {
        let mut charge = Charge::default();
        charge.take(bytes);
        charge
    }

    /// Whether the document may grow by this much.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if self.spare >= bytes {
            self.spare -= bytes;
            return true;
        }
        if self.allowance.is_none() && !IS_ENTERED.get() {
            return true;
        }
        self.take_more(bytes)
    }

    /// Whether the document may not grow any more.
    pub(crate) fn is_exceeded(&self) -> bool {
        let allowance = self.allowance.as_ref();
        allowance.is_some_and(|allowance| allowance.is_exceeded() && !allowance.is_closed())
    }

    fn take_more(&mut self, bytes: u64) -> bool {
        if self.allowance.as_ref().is_none_or(|it| it.is_closed()) {
            self.give_back();
            self.allowance = Allowance::current();
        }
        let Some(allowance) = &self.allowance else {
            return true;
        };
        let step = bytes.max(STEP);
        let may = allowance.take(step);
        if may {
            self.taken += step;
            self.spare += step - bytes;
        }
        may
    }

    fn give_back(&mut self) {
        if let Some(allowance) = &self.allowance {
            allowance.give_back(self.taken);
        }
        (self.taken, self.spare) = (0, 0);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests;
