//! Random numbers from a seed: the same on every machine (SplitMix64).

use std::time::Duration;

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and less than 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An index below `count`; 0 if there is nothing to choose from.
    pub(super) fn below(&mut self, count: usize) -> usize {
        ((self.fraction() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A duration with an exponential distribution.
    pub(super) fn around(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(-(1.0 - self.fraction()).ln())
    }

    /// An index below `count` with a skewed distribution: index `i` is chosen in proportion to `1 / (i + 1)`.
    pub(super) fn skewed(&mut self, count: usize) -> usize {
        // The inverse of the distribution with the integral in place of the sum.
        let drawn = ((count as f64 + 1.0).ln() * self.fraction()).exp() - 1.0;
        (drawn as usize).min(count.saturating_sub(1))
    }
}
