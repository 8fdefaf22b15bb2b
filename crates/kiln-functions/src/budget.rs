//! The limits of one call: how many bytes its documents, results and messages may take, and when it must stop.
//!
//! The limits are thread-local, so that no loop, however deep, needs a parameter for them. Invariant: a limit that is
//! reached stays reached until the call ends. Loops may therefore stop early and leave half of their work undone:
//! [`perform`](crate::evaluator::perform) checks the limits after every function and discards its output.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use kiln_runtime::{Deadline, Limits, RunContext};
use kiln_yaml::{Allowance, EnteredAllowance};

/// Bytes that a call may use in addition to twice its output limit: small outputs still need trees, which are larger
/// than text.
const BASE: u64 = 96 << 20;

/// How many times [`is_stopped`] is called before it reads the clock again.
const CALLS_PER_LOOK: u32 = 64;

thread_local! {
    static CALL: RefCell<Option<CallBounds>> = const { RefCell::new(None) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static IS_STOPPED: Cell<bool> = const { Cell::new(false) };
}

struct CallBounds {
    run: RunContext,
    allowance: Arc<Allowance>,
}

/// The limits of a call, in force on this thread until dropped.
pub(crate) struct Bounds {
    allowance: Arc<Allowance>,
    previous: Option<CallBounds>,
    _entered: EnteredAllowance,
}

impl Bounds {
    pub(crate) fn enter(run: &RunContext) -> Bounds {
        let allowance = Allowance::new(bytes(run.limits));
        let call = CallBounds {
            run: run.clone(),
            allowance: Arc::clone(&allowance),
        };
        IS_STOPPED.set(false);
        CALLS.set(0);
        Bounds {
            _entered: allowance.enter(),
            previous: CALL.replace(Some(call)),
            allowance,
        }
    }

    /// The error message if the function has used too many bytes.
    pub(crate) fn excess(&self) -> Option<String> {
        self.allowance.is_exceeded().then(|| {
            let limit = in_words(self.allowance.limit());
            format!(
                "function needs more than {limit} for its resources, results and messages; use smaller values or fewer \
                 resources, or raise the limit: --max-output of the command line, --max-request-body-size of a service\n"
            )
        })
    }
}

impl Drop for Bounds {
    fn drop(&mut self) {
        CALL.set(self.previous.take());
        IS_STOPPED.set(false);
    }
}

/// Whether the call on this thread must stop: the deadline has passed, the caller has cancelled, or it has used too
/// many bytes. Cheap enough for inner loops.
pub(crate) fn is_stopped() -> bool {
    if IS_STOPPED.get() {
        return true;
    }
    let calls = CALLS.get();
    CALLS.set(calls.wrapping_add(1));
    let looks = calls.is_multiple_of(CALLS_PER_LOOK);
    let stopped = CALL.with_borrow(|call| {
        let call = call.as_ref();
        call.is_some_and(|call| call.allowance.is_exceeded() || looks && is_over(&call.run))
    });
    IS_STOPPED.set(stopped);
    stopped
}

/// Whether the deadline of a call has passed or its caller has cancelled.
pub(crate) fn is_over(run: &RunContext) -> bool {
    let is_late = |deadline: Deadline| std::time::Instant::now() >= deadline.at;
    run.cancel.is_cancelled() || run.deadline.is_some_and(is_late)
}

/// [`str::replace`], or an empty string if the result would exceed the limit of the call.
pub(crate) fn replace_all(text: &str, from: &str, to: &str) -> String {
    let grows_by = to.len().saturating_sub(from.len());
    let bytes = match grows_by {
        0 => text.len(),
        _ => {
            let count = text.matches(from).count();
            text.len().saturating_add(count.saturating_mul(grows_by))
        }
    };
    match kiln_yaml::may_build(bytes) {
        true => text.replace(from, to),
        false => String::new(),
    }
}

/// Whether the call may compile a regular expression.
pub(crate) fn may_compile(expression: &str) -> bool {
    kiln_yaml::may_build(pattern_bytes(expression))
}

/// The bytes that compiling a regular expression takes: its syntax tree has a node for each byte.
pub(crate) fn pattern_bytes(expression: &str) -> usize {
    expression.len().saturating_mul(256)
}

fn bytes(limits: Limits) -> u64 {
    limits.max_output.saturating_mul(2).saturating_add(BASE)
}

fn in_words(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 10 << 30 => format!("{} GiB", bytes >> 30),
        _ => format!("{} MiB", bytes >> 20),
    }
}
