//! Limits for unpacking, counted while layers are read.

use super::error::UnpackProblem;

/// The largest image that is unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnpackLimits {
    /// Of all files of an image, and of its unpacked layers, in bytes.
    pub image_bytes: u64,
    /// Of one file, in bytes.
    pub file_bytes: u64,
    /// The number of entries in all layers.
    pub entries: u64,
    /// How deep directories are nested.
    pub depth: u32,
    /// How many times larger than its packed form a layer of more than 64 MiB is.
    pub ratio: u64,
}

impl Default for UnpackLimits {
    fn default() -> UnpackLimits {
        UnpackLimits {
            image_bytes: 8 << 30,
            file_bytes: 2 << 30,
            entries: 500_000,
            depth: 256,
            ratio: 200,
        }
    }
}

/// Layers up to this size may have any ratio.
const RATIO_FROM: u64 = 64 << 20;

/// How much of an image may still be unpacked.
#[derive(Debug)]
pub(super) struct Budget {
    limits: UnpackLimits,
    bytes: u64,
    stream_bytes: u64,
    entries: u64,
}

impl Budget {
    pub(super) fn new(limits: UnpackLimits) -> Budget {
        Budget {
            bytes: limits.image_bytes,
            stream_bytes: limits.image_bytes,
            entries: limits.entries,
            limits,
        }
    }

    /// The budget of a layer's stream. `packed` is the size of the layer in the registry.
    pub(super) fn stream(&self, packed: u64) -> StreamBudget {
        let by_ratio = packed.saturating_mul(self.limits.ratio).max(RATIO_FROM);
        let (left, problem) = match by_ratio < self.stream_bytes {
            true => {
                let limit = self.limits.ratio;
                let unit = "bytes for each packed byte of a layer";
                (by_ratio, exceeded(limit, unit))
            }
            false => (
                self.stream_bytes,
                exceeded(self.limits.image_bytes, IMAGE_UNIT),
            ),
        };
        StreamBudget {
            start: left,
            left,
            problem: Some(problem),
        }
    }

    /// Counts the stream of a layer that was read.
    pub(super) fn count_stream(&mut self, read: u64) {
        self.stream_bytes = self.stream_bytes.saturating_sub(read);
    }

    /// Counts an entry or a directory that is created for it.
    pub(super) fn count_entry(&mut self) -> Result<(), UnpackProblem> {
        let left = self.entries.checked_sub(1);
        self.entries = left.ok_or(exceeded(self.limits.entries, "entries"))?;
        Ok(())
    }

    /// Counts a file, before it is written.
    pub(super) fn count_file(&mut self, size: u64) -> Result<(), UnpackProblem> {
        if size > self.limits.file_bytes {
            return Err(exceeded(self.limits.file_bytes, "bytes for a file"));
        }
        let left = self.bytes.checked_sub(size);
        self.bytes = left.ok_or(exceeded(self.limits.image_bytes, IMAGE_UNIT))?;
        Ok(())
    }

    /// Checks how deep a new directory would be.
    pub(super) fn check_depth(&self, depth: u32) -> Result<(), UnpackProblem> {
        match depth > self.limits.depth {
            true => Err(exceeded(self.limits.depth.into(), "levels of directories")),
            false => Ok(()),
        }
    }
}

const IMAGE_UNIT: &str = "bytes in all layers";

/// How much of a stream may still be read.
#[derive(Debug)]
pub(crate) struct StreamBudget {
    start: u64,
    left: u64,
    /// The error when nothing is left.
    problem: Option<UnpackProblem>,
}

impl StreamBudget {
    /// The budget of a stream of any kind, in bytes.
    pub(crate) fn new(limit: u64) -> StreamBudget {
        StreamBudget {
            start: limit,
            left: limit,
            problem: None,
        }
    }

    pub(super) fn count(&mut self, read: u64) -> Result<(), UnpackProblem> {
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => {
                let problem = self.problem.take();
                return Err(problem.unwrap_or(exceeded(self.start, IMAGE_UNIT)));
            }
        }
        Ok(())
    }

    pub(super) fn read(&self) -> u64 {
        self.start - self.left
    }
}

fn exceeded(limit: u64, unit: &'static str) -> UnpackProblem {
    UnpackProblem::Limit { limit, unit }
}
