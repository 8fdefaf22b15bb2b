//! Removal of the answers that were not used for longest.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use super::ResultCache;
use super::directory::{PARTIAL, PrivateDirectory};

/// The directory of the reports of renders.
pub(super) const RENDER: &str = "render";
/// The directory of functions that are not pure.
pub(super) const IMPURE: &str = "impure";

const LOCK: &str = "lock";
const TRIMMED: &str = "trimmed";

/// How often all processes together look for entries to remove.
const TRIM_EVERY: Duration = Duration::from_secs(600);

/// How much one process writes until it looks again.
const TRIM_AFTER_BYTES: u64 = 64 << 20;
const TRIM_AFTER_ENTRIES: u64 = 1000;

/// How long files that are being written are left alone.
const PARTIAL_AGE: Duration = Duration::from_secs(3600);

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResultLimits {
    /// The size of all entries, in bytes.
    pub size: u64,
    /// The number of entries.
    pub entries: usize,
}

impl Default for ResultLimits {
    fn default() -> ResultLimits {
        ResultLimits {
            size: 1_000_000_000,
            entries: 100_000,
        }
    }
}

impl ResultCache {
    /// Removes the entries that were not used for longest until the others are within the limits. Does nothing if another
    /// process does it.
    pub fn trim(&self) {
        let Ok(lock) = self.directory.open_file(LOCK) else {
            return;
        };
        if lock.try_lock().is_err() {
            return;
        }
        let shards = (0..=255_u8).map(|shard| format!("{shard:02x}"));
        let names = shards.chain([RENDER.to_owned()]);
        let directories: Vec<PrivateDirectory> = names
            .filter_map(|name| self.directory.existing(&name))
            .collect();
        let mut entries = Vec::new();
        for (at, directory) in directories.iter().enumerate() {
            for (name, stat) in directory.files() {
                let time = (i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec));
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                match name.ends_with(PARTIAL) {
                    true if is_abandoned(time.0) => directory.remove(&name),
                    true => {}
                    false => entries.push((time, at, name, size)),
                }
            }
        }
        entries.sort();
        let mut size: u64 = entries.iter().map(|(.., size)| size).sum();
        let mut count = entries.len();
        for (_, at, name, entry_size) in entries {
            if size <= self.limits.size && count <= self.limits.entries {
                break;
            }
            if let Some(directory) = directories.get(at) {
                directory.remove(&name);
            }
            size = size.saturating_sub(entry_size);
            count -= 1;
        }
        if let Ok(file) = self.directory.open_file(TRIMMED) {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Counts an entry, and removes others if it is time to.
    pub(super) fn trim_after(&self, written: u64) {
        let bytes = self.written.bytes.fetch_add(written, Ordering::Relaxed) + written;
        let entries = self.written.entries.fetch_add(1, Ordering::Relaxed) + 1;
        let is_much = bytes >= TRIM_AFTER_BYTES || entries >= TRIM_AFTER_ENTRIES;
        if is_much || self.is_trim_due() {
            self.written.bytes.store(0, Ordering::Relaxed);
            self.written.entries.store(0, Ordering::Relaxed);
            self.trim();
        }
    }

    /// Whether no process has looked for a while. A time in the future counts as such.
    fn is_trim_due(&self) -> bool {
        let trimmed = std::fs::symlink_metadata(self.path.join(TRIMMED));
        let trimmed = trimmed.and_then(|metadata| metadata.modified());
        let age = trimmed.ok().and_then(|trimmed| trimmed.elapsed().ok());
        age.is_none_or(|age| age > TRIM_EVERY)
    }
}

/// Whether the process that wrote a file must have been killed.
fn is_abandoned(seconds: i128) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = i128::from(now.map_or(0, |now| now.as_secs()));
    now - seconds > i128::from(PARTIAL_AGE.as_secs())
}
