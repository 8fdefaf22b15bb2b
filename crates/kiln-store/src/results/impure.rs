//! Functions that gave two answers to one input: their answers are not kept for a while.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::key::KeyHasher;
use super::{ResultCache, trim};

/// How long the answers of such a function are not kept.
const IMPURE_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// The largest file of a mark, in bytes.
const MAX_MARK: u64 = 64 << 10;

impl ResultCache {
    /// Notes that the answers of a function depend on more than its input.
    pub fn mark_impure(&self, identity: &str) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = now.map_or(0, |now| now.as_secs());
        let text = format!("{seconds} {identity}\n");
        let directory = self.directory.made(trim::IMPURE)?;
        directory.write(&mark_name(identity), text.as_bytes())
    }

    /// Whether the function was marked in the last 30 days. A mark that cannot be read counts.
    pub fn is_impure(&self, identity: &str) -> bool {
        let Some(directory) = self.directory.existing(trim::IMPURE) else {
            return false;
        };
        let name = mark_name(identity);
        let text = match directory.read(&name, MAX_MARK) {
            Ok(None) => return false,
            Ok(Some(bytes)) => String::from_utf8(bytes).unwrap_or_default(),
            Err(_) => return true,
        };
        let marked = text.split(' ').next().and_then(|text| text.parse().ok());
        let Some(marked) = marked else {
            return true;
        };
        let marked = UNIX_EPOCH.checked_add(Duration::from_secs(marked));
        // A clock that was set back makes a mark last longer.
        let age = marked.and_then(|marked| marked.elapsed().ok());
        let is_over = age.is_some_and(|age| age > IMPURE_FOR);
        if is_over {
            directory.remove(&name);
        }
        !is_over
    }
}

fn mark_name(identity: &str) -> String {
    let key = KeyHasher::new(0).field(identity.as_bytes()).finish();
    key.hex().to_owned()
}
