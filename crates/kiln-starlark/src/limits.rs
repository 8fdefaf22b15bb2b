//! What a run may use.

/// Bounds on a run. A program that exceeds one fails with a message that names it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many steps the run may take. A step is an instruction, or about as much work of a function.
    pub steps: u64,
    /// How many bytes the values of the run, its printed text and what the host makes of them may need at a time.
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

/// How deep functions of the language that call functions of the program (`sorted` with a key) may be nested.
pub(crate) const MAX_NATIVE_CALLS: usize = 50;

/// How many bits an integer may have. The original has no such limit, and would go on until it has used up all
/// memory.
pub(crate) const MAX_INT_BITS: u64 = 1 << 18;

/// How many digits a text may have that is read as an integer.
pub(crate) const MAX_INT_DIGITS: usize = 1 << 16;

/// How long the message of a failure may be; the end of a longer one is left out.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;
