//! The limits of a run.

/// The limits of a run. A program that exceeds one fails with a message that names it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The number of steps. A step is an instruction, or about as much work of a function.
    pub steps: u64,
    /// The number of bytes that the values of the run, its printed text and the host's copies may use at a time.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: 2_000_000_000,
            bytes: 256 << 20,
        }
    }
}

/// How deep functions may call each other, as in the original.
pub(crate) const MAX_CALLS: usize = 100_000;

/// How deep functions of the language that call functions of the program (`sorted` with a key) may nest.
pub(crate) const MAX_NATIVE_CALLS: usize = 50;

/// The bits of an integer. The original has no such limit, and would use all memory.
pub(crate) const MAX_INT_BITS: u64 = 1 << 18;

/// The digits of a text that is parsed as an integer.
pub(crate) const MAX_INT_DIGITS: usize = 1 << 16;

/// The length of a failure's message; longer messages are cut.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;
