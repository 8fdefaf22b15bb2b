//! The limits of one call of the function, and the meter that counts usage.
//!
//! A few bytes of Rego can use any amount of time and memory. The size of a policy is limited before it is evaluated
//! ([`super::scan`], [`super::graph`]); the values that it builds are charged to a [`Meter`], which also checks the
//! deadline and cancellation of the call. All limits are in this file.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kiln_runtime::RunContext;
use regorus::Value;

use crate::function::Stopped;

/// Tokens of all policies of a call. The engine needs about 500 bytes for each.
pub(super) const MAX_TOKENS: usize = 150_000;

/// The longest line. Tokens and bytes are limited.
pub(super) const MAX_COLUMN: NonZeroU32 = NonZeroU32::MAX;

/// How deep brackets of a policy may nest.
pub(super) const MAX_NESTING: usize = 40;

/// How deep expressions may nest, where each operator of a chain and each bracket is a level.
pub(super) const MAX_EXPRESSION_DEPTH: usize = 300;

/// How many tokens the engine's parser may read. It reads some brackets several times.
pub(super) const MAX_PARSER_WORK: u64 = 4_000_000;

/// How many references between rules a policy may have.
pub(super) const MAX_EDGES: usize = 500_000;

/// How deep statements, expressions, rules and functions that use each other may nest during evaluation.
///
/// The engine needs at most [`STACK_PER_LEVEL`] bytes of stack per level.
pub(super) const MAX_LEVELS: u32 = 3_000;

/// Optimized code needs 2 KiB; a test evaluates the deepest accepted policies.
const STACK_PER_LEVEL: usize = 16 * 1024;

/// The stack of the thread that evaluates policies. Unused pages take no memory.
pub(super) const STACK: usize = 8 * 1024 * 1024 + MAX_LEVELS as usize * STACK_PER_LEVEL;

/// How deep a value may nest. The stack is deep enough for many more levels of a value.
pub(super) const MAX_VALUE_DEPTH: usize = 5_000;

/// How many parts a value of a rule or function may have. Parts that occur twice count twice.
pub(super) const MAX_VALUE_PARTS: u64 = 4_000_000;

/// The size of an integer.
pub(super) const MAX_NUMBER_BITS: u64 = 16_384;

/// What a policy has that computes with numbers beyond binary64 and needs their text or quotient.
pub(super) const HUGE_NUMBER: &str = "a number of a policy is too large: it exceeds 1.8e308";

/// How many comparisons one call of a built-in function may need.
pub(super) const MAX_COMPARISONS: u64 = 200_000_000;

/// Bytes that one evaluation of one policy may allocate.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes that all results of a call may take.
pub(super) const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// Bytes that the errors of one constraint may take. Further errors are dropped.
pub(super) const MAX_FAULT_BYTES: usize = 1024 * 1024;

/// How long policies may run if the call has no deadline.
const MAX_TIME: Duration = Duration::from_secs(600);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct OverLimit(String);

impl OverLimit {
    /// `what` describes what the policy uses.
    pub(super) fn new(what: &str) -> OverLimit {
        OverLimit(unsupported(what))
    }
}

/// A message about a policy that only the original function can evaluate.
pub(super) fn unsupported(what: &str) -> String {
    format!("{what}, which is not supported natively; use --no-native")
}

pub(super) struct Meter {
    run: RunContext,
    end: Instant,
    stop: AtomicBool,
    /// Bytes that the evaluation may still make.
    bytes: AtomicU64,
    over: Mutex<Option<OverLimit>>,
    is_random: AtomicBool,
}

impl Meter {
    pub(super) fn new(run: &RunContext) -> Meter {
        let now = Instant::now();
        let latest = now.checked_add(MAX_TIME).unwrap_or(now);
        Meter {
            end: run
                .deadline
                .map_or(latest, |deadline| deadline.at.min(latest)),
            run: run.clone(),
            stop: AtomicBool::new(false),
            bytes: AtomicU64::new(MAX_BYTES),
            over: Mutex::new(None),
            is_random: AtomicBool::new(false),
        }
    }

    /// Grants all bytes to the next evaluation; the previous one has freed its own.
    pub(super) fn renew(&self) {
        self.bytes.store(MAX_BYTES, Ordering::Relaxed);
    }

    pub(super) fn time_left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Fails if the call was cancelled or is past its deadline.
    pub(super) fn stopped(&self) -> Result<(), Stopped> {
        let is_late = |deadline: kiln_runtime::Deadline| Instant::now() >= deadline.at;
        match self.run.cancel.is_cancelled() || self.run.deadline.is_some_and(is_late) {
            true => Err(Stopped),
            false => Ok(()),
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Notes that a policy may draw random values.
    pub(super) fn note_random(&self) {
        self.is_random.store(true, Ordering::Relaxed);
    }

    /// Whether a policy of the call may draw random values.
    pub(super) fn is_random(&self) -> bool {
        self.is_random.load(Ordering::Relaxed)
    }

    pub(super) fn check(&self) -> Result<(), OverLimit> {
        if let Some(over) = self.over() {
            return Err(over);
        }
        let stopped = self.stop.load(Ordering::Relaxed) || self.run.cancel.is_cancelled();
        match stopped || Instant::now() >= self.end {
            true => Err(self.record(OverLimit::new("policies take too long"))),
            false => Ok(()),
        }
    }

    pub(super) fn charge(&self, bytes: u64) -> Result<(), OverLimit> {
        self.check()?;
        let taken = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        taken.map(|_| ()).map_err(|_| self.too_much_memory())
    }

    /// Whether that many bytes can be charged, for results whose size is known only after they are built.
    pub(super) fn fits(&self, bytes: u64) -> Result<(), OverLimit> {
        self.check()?;
        match bytes <= self.bytes.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(self.too_much_memory()),
        }
    }

    pub(super) fn fits_number(&self, bits: u64) -> Result<(), OverLimit> {
        match bits <= MAX_NUMBER_BITS {
            true => Ok(()),
            false => Err(self.record(OverLimit::new(&format!(
                "a number has more than {MAX_NUMBER_BITS} bits"
            )))),
        }
    }

    pub(super) fn over(&self) -> Option<OverLimit> {
        let over = self.over.lock();
        over.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The engine drops some errors of functions with several definitions, so the meter keeps the first.
    pub(super) fn record(&self, over: OverLimit) -> OverLimit {
        let kept = self.over.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(over).clone()
    }

    fn too_much_memory(&self) -> OverLimit {
        let limit = MAX_BYTES / (1024 * 1024);
        self.record(OverLimit::new(&format!(
            "a policy needs more than {limit} MiB of memory"
        )))
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Size {
    /// Parts that occur twice count twice.
    pub(super) parts: u64,
    /// Bytes of strings and long numbers, in keys and values.
    pub(super) text: u64,
    /// The sum of the depths of its parts.
    pub(super) paths: u64,
    /// Whether a number is too large for the engine to write.
    has_huge_number: bool,
}

impl Size {
    /// Fails if the engine cannot write the value as text.
    pub(super) fn printable(self, meter: &Meter) -> Result<Size, OverLimit> {
        match self.has_huge_number {
            true => Err(meter.record(OverLimit::new(HUGE_NUMBER))),
            false => Ok(self),
        }
    }
}

impl Meter {
    /// Measures a value. A value of few bytes can take years to walk, so every walk is metered.
    pub(super) fn size(&self, value: &Value) -> Result<Size, OverLimit> {
        let mut size = Size::default();
        self.add_size(value, 0, &mut size)?;
        Ok(size)
    }

    fn add_size(&self, value: &Value, depth: usize, size: &mut Size) -> Result<(), OverLimit> {
        size.parts += 1;
        size.paths += depth as u64;
        if depth > MAX_VALUE_DEPTH {
            return Err(self.record(OverLimit::new(&format!(
                "a value is nested deeper than {MAX_VALUE_DEPTH} levels"
            ))));
        }
        if size.parts > MAX_VALUE_PARTS {
            return Err(self.record(OverLimit::new(&format!(
                "a value has more than {MAX_VALUE_PARTS} parts"
            ))));
        }
        if size.parts.is_multiple_of(4096) {
            self.check()?;
        }
        match value {
            Value::String(text) => size.text += text.len() as u64,
            Value::Number(_) => {
                size.text += 24 + bits(value) / 3;
                size.has_huge_number |= is_huge(value);
            }
            Value::Array(items) => {
                for item in items.iter() {
                    self.add_size(item, depth + 1, size)?;
                }
            }
            Value::Set(items) => {
                for item in items.iter() {
                    self.add_size(item, depth + 1, size)?;
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields.iter() {
                    self.add_size(name, depth + 1, size)?;
                    self.add_size(field, depth + 1, size)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a number is too large for binary64.
fn is_huge(value: &Value) -> bool {
    let limit = u64::from(f64::MAX_EXP.unsigned_abs());
    match (value, bits(value)) {
        (Value::Number(number), bits) if bits == limit => {
            let number = number.format_decimal().parse::<f64>();
            !number.is_ok_and(f64::is_finite)
        }
        (_, bits) => bits > limit,
    }
}

/// Whether an error of the engine is about a number that is too large for it.
pub(super) fn is_overflow(error: &str) -> bool {
    error.contains("numeric overflow in ")
}

/// The size of a number that does not fit a machine word.
pub(super) fn bits(value: &Value) -> u64 {
    match value {
        Value::Number(number) if number.as_i64().is_none() && number.as_u64().is_none() => {
            number.as_big().map_or(0, |number| number.bits())
        }
        _ => 0,
    }
}
