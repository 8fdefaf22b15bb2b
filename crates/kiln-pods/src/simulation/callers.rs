//! Callers: bursts of calls over one connection each.

use std::time::Duration;

use super::random::Random;

/// Calls of one caller at a time.
const WIDTH: u32 = 8;

/// The mean number of calls in a burst, the mean time between them, and between bursts.
const BURST: usize = 50;
const GAP: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct SimulatedCaller {
    /// The replica that its connection leads to.
    pub(super) replica: usize,
    images: Vec<usize>,
    left_in_burst: usize,
    pub(super) running: u32,
}

impl SimulatedCaller {
    pub(super) fn new(
        replica: usize,
        images: usize,
        images_per_caller: usize,
        random: &mut Random,
    ) -> SimulatedCaller {
        SimulatedCaller {
            replica,
            images: (0..images_per_caller)
                .map(|_| random.skewed(images))
                .collect(),
            left_in_burst: 0,
            running: 0,
        }
    }

    /// The image that it calls now, if it calls one, and when it acts again.
    pub(super) fn act(&mut self, random: &mut Random) -> (Option<usize>, Duration) {
        if self.left_in_burst == 0 {
            self.left_in_burst = 1 + random.below(2 * BURST);
            return (None, random.around(PAUSE));
        }
        let wait = random.around(GAP);
        if self.running >= WIDTH {
            return (None, wait);
        }
        self.left_in_burst -= 1;
        self.running += 1;
        let image = self.images.get(random.skewed(self.images.len())).copied();
        (image, wait)
    }
}
