//! What a run may use.

/// Bounds on a run. Whoever goes beyond one fails with a message that says so.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many steps the machine may take; long work of a single function counts as many.
    pub steps: u64,
    /// How many bytes may be allocated in all.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: 2_000_000_000,
            bytes: 2 << 30,
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
