//! What a module can reach: its input, its output, a clock and random bytes. Both interfaces and both engines use it.
//!
//! A host function is a plain Rust function over a [`Guest`], so that it is written once for every engine. There is one
//! [`CallState`] for each call; nothing of it survives the call.

mod clock;
mod memory;
mod random;

use std::fmt;
#[cfg(feature = "wasm-jit")]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use kiln_runtime::{CancelToken, Deadline, StderrListener};

pub(crate) use clock::CallClock;
pub use clock::WasmClock;
pub(crate) use memory::{GuestMemory, OutOfBounds};
pub(crate) use random::RandomBytes;
pub use random::WasmRandom;

use crate::gojs::GoValues;

/// How deep calls from the host to the module may be nested: the module can call the host, and the host the module again. Each
/// level takes stack of the calling thread.
const MAX_NESTING: u32 = 48;

/// A module that runs, as host functions see it.
pub(crate) trait Guest {
    /// The linear memory and the state of the call. Memory may have moved since the last call.
    fn parts(&mut self) -> (GuestMemory<'_>, &mut CallState);

    /// Calls an exported function for [`Guest::call`], which counts it.
    fn enter(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop>;

    /// Calls an exported function whose parameters and results are all 32-bit integers. There is no other way from the host
    /// into the module, so that no export of the module can nest calls without end.
    fn call(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let state = self.state();
        if state.nesting >= MAX_NESTING {
            let text = format!(
                "calls between the module and the host are nested more than {MAX_NESTING} deep"
            );
            return Err(Stop::Trap(text));
        }
        state.nesting += 1;
        let called = self.enter(export, arguments);
        self.state().nesting -= 1;
        called
    }

    fn state(&mut self) -> &mut CallState {
        self.parts().1
    }
}

/// A function that modules import.
pub(crate) struct HostFunction {
    pub(crate) name: &'static str,
    pub(crate) signature: Signature,
    pub(crate) body: HostBody,
}

/// A function that modules export for the host.
pub(crate) struct ExportedFunction {
    pub(crate) name: &'static str,
    pub(crate) signature: Signature,
}

/// The type of a function.
#[derive(Clone, Copy)]
pub(crate) struct Signature {
    pub(crate) parameters: &'static [NumberType],
    pub(crate) result: Option<NumberType>,
}

/// As in the text format of WebAssembly.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |number: &NumberType| match number {
            NumberType::I32 => " i32",
            NumberType::I64 => " i64",
        };
        f.write_str("(func")?;
        if !self.parameters.is_empty() {
            let parameters: String = self.parameters.iter().map(word).collect();
            write!(f, " (param{parameters})")?;
        }
        if let Some(result) = &self.result {
            write!(f, " (result{})", word(result))?;
        }
        f.write_str(")")
    }
}

/// What a host function does.
#[derive(Clone, Copy)]
pub(crate) enum HostBody {
    /// It gets its arguments as numbers and returns one.
    Numbers(fn(&mut dyn Guest, HostArguments<'_>) -> Result<u32, Stop>),
    /// It gets the stack pointer of a Go program, where its arguments are.
    Stack(fn(&mut dyn Guest, u32) -> Result<(), Stop>),
}

impl HostBody {
    pub(crate) fn run(
        self,
        guest: &mut dyn Guest,
        arguments: HostArguments<'_>,
    ) -> Result<u32, Stop> {
        // The interpreter looks at the clock after a number of instructions, however long the calls between them take.
        guest.state().interrupt.check()?;
        match self {
            HostBody::Numbers(run) => run(guest, arguments),
            HostBody::Stack(run) => run(guest, arguments.word(0)).map(|()| 0),
        }
    }
}

/// The type of a parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberType {
    I32,
    I64,
}

/// The arguments of a call of a host function. The engine has checked their number and types.
#[derive(Clone, Copy)]
pub(crate) struct HostArguments<'a>(pub(crate) &'a [u64]);

impl HostArguments<'_> {
    pub(crate) fn long(self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn word(self, index: usize) -> u32 {
        self.long(index) as u32
    }
}

/// Why a module does not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// It ended itself.
    #[error("exit status {0}")]
    Exit(i32),
    #[error("the deadline has passed")]
    TimedOut,
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the output is too large")]
    OutputTooLarge,
    /// It needs more memory than it may have, in its own memory or in values that the host holds for it.
    #[error("too much memory")]
    OverMemory,
    /// It did something that the engine or the host refuses.
    #[error("{0}")]
    Trap(String),
}

/// The state of one call.
pub(crate) struct CallState {
    /// The function's name, then its arguments.
    pub(crate) arguments: Vec<String>,
    /// `NAME=VALUE`
    pub(crate) environment: Vec<String>,
    pub(crate) input: Vec<u8>,
    /// How much of the input was read.
    pub(crate) input_read: usize,
    pub(crate) output: OutputStreams,
    pub(crate) clock: CallClock,
    pub(crate) random: RandomBytes,
    pub(crate) interrupt: Interrupt,
    pub(crate) memory: MemoryLimit,
    /// Values of Go's `js` interface.
    pub(crate) go: GoValues,
    /// How many calls of the host are inside the module.
    pub(crate) nesting: u32,
}

/// What a module wrote.
pub(crate) struct OutputStreams {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// How much more it may write.
    pub(crate) left: u64,
    pub(crate) on_stderr: Option<StderrListener>,
}

impl OutputStreams {
    /// Appends to stdout (1) or stderr (2).
    pub(crate) fn write(&mut self, stream: u32, bytes: &[u8]) -> Result<(), Stop> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or(Stop::OutputTooLarge)?;
        if stream == 1 {
            self.stdout.extend_from_slice(bytes);
            return Ok(());
        }
        self.stderr.extend_from_slice(bytes);
        if let Some(listener) = &self.on_stderr {
            listener.receive(bytes);
        }
        Ok(())
    }
}

/// When a call has to end before the module does.
#[derive(Clone)]
pub(crate) struct Interrupt {
    pub(crate) deadline: Option<Deadline>,
    pub(crate) cancel: CancelToken,
}

impl Interrupt {
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let has_passed = |deadline: &Deadline| Instant::now() >= deadline.at;
        match self.deadline.as_ref().is_some_and(has_passed) {
            true => Err(Stop::TimedOut),
            false => Ok(()),
        }
    }

    /// Waits for `duration`, or until the call has to end.
    pub(crate) fn wait(&self, duration: Duration) {
        let until_deadline =
            |deadline: &Deadline| deadline.at.saturating_duration_since(Instant::now());
        let limit = self.deadline.as_ref().map_or(duration, until_deadline);
        let (wake, woken) = mpsc::channel();
        let _guard = self.cancel.on_cancel(move || {
            // The call may have ended meanwhile; then nothing waits.
            let _ = wake.send(());
        });
        let _ = woken.recv_timeout(duration.min(limit));
    }

    /// Does work that nothing can stop on a thread of its own, which goes on alone if the call has to end before.
    #[cfg(feature = "wasm-jit")]
    pub(crate) fn run_aside<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<Result<T, Stop>> {
        let (done, ended) = mpsc::channel();
        let wake = done.clone();
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(move || {
            // Nothing waits for it if the call has ended.
            let _ = done.send(Some(catch_unwind(AssertUnwindSafe(work))));
        })?;
        let _guard = self.cancel.on_cancel(move || {
            let _ = wake.send(None);
        });
        let received = match &self.deadline {
            Some(deadline) => {
                let left = deadline.at.saturating_duration_since(Instant::now());
                ended.recv_timeout(left).map_err(|_| Stop::TimedOut)
            }
            None => ended.recv().map_err(|_| Stop::Cancelled),
        };
        Ok(match received {
            Ok(Some(Ok(value))) => Ok(value),
            Ok(Some(Err(panic))) => resume_unwind(panic),
            Ok(None) => Err(Stop::Cancelled),
            Err(stop) => Err(stop),
        })
    }
}

/// The memory that a call may still take, for the module and for what the host holds for it. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    left: Arc<AtomicU64>,
}

impl MemoryBudget {
    pub(crate) fn new(bytes: u64) -> MemoryBudget {
        MemoryBudget {
            left: Arc::new(AtomicU64::new(bytes)),
        }
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self, bytes: u64) -> Result<(), Stop> {
        let left = self.left().checked_sub(bytes).ok_or(Stop::OverMemory)?;
        // A call runs on one thread.
        self.left.store(left, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        let left = self.left().saturating_add(bytes);
        self.left.store(left, Ordering::Relaxed);
    }
}

/// The limit of the memory of a module.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    pub(crate) budget: MemoryBudget,
    /// Whether the module asked for more and was refused.
    pub(crate) is_exceeded: bool,
}

/// The most tables.
pub(crate) const MAX_TABLES: usize = 1;

/// The largest table; Go's linker makes one of about 40,000 elements.
pub(crate) const MAX_TABLE: usize = 200_000;

impl MemoryLimit {
    pub(crate) fn allows_memory(&mut self, current: usize, desired: usize) -> bool {
        let growth = desired.saturating_sub(current) as u64;
        let is_allowed = self.budget.take(growth).is_ok();
        self.is_exceeded |= !is_allowed;
        is_allowed
    }
}

/// The message of a panic in a host function, which is a defect of kiln.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "unknown panic".to_owned())
}

/// Shared bytes of a text.
pub(crate) type SharedText = Arc<str>;
