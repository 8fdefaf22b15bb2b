//! The random bytes of a module.

use super::Stop;

/// Which random bytes functions get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WasmRandom {
    /// The same sequence in every call, so that the result of a function depends on nothing but its input.
    #[default]
    Fixed,
    /// Random bytes of the operating system.
    Real,
}

/// The random bytes of one call.
pub(crate) enum RandomBytes {
    Fixed { state: u64 },
    Real,
}

impl RandomBytes {
    pub(crate) fn new(random: WasmRandom) -> RandomBytes {
        match random {
            WasmRandom::Fixed => RandomBytes::Fixed { state: 0 },
            WasmRandom::Real => RandomBytes::Real,
        }
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Stop> {
        match self {
            RandomBytes::Fixed { state } => {
                for chunk in bytes.chunks_mut(8) {
                    let random = next(state).to_le_bytes();
                    for (byte, random) in chunk.iter_mut().zip(random) {
                        *byte = random;
                    }
                }
                Ok(())
            }
            RandomBytes::Real => getrandom::fill(bytes)
                .map_err(|error| Stop::Trap(format!("cannot get random bytes: {error}"))),
        }
    }
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
