//! Writes a file of a layer.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::{Duration, SystemTime};

use kiln_oci::DigestHasher;
use rustix::fs::Mode;

use super::archive::{ArchiveEntry, ArchiveReader};
use super::error::UnpackProblem;
use super::sparse::Segment;
use crate::record::ContentHash;

const BUFFER: usize = 128 << 10;

/// A file that was written.
pub(super) struct WrittenFile {
    pub(super) inode: u64,
    pub(super) hash: ContentHash,
}

/// Writes the data of an entry to an empty file, and sets its mode and time.
pub(super) fn write_file(
    mut file: File,
    entry: &ArchiveEntry,
    reader: &mut ArchiveReader<'_>,
) -> Result<WrittenFile, UnpackProblem> {
    let mut hasher = DigestHasher::sha256();
    let whole = [Segment {
        offset: 0,
        length: entry.size,
    }];
    let mut at = 0;
    let size = usize::try_from(entry.size).unwrap_or(BUFFER);
    let mut buffer = vec![0; size.clamp(1, BUFFER)];
    for segment in entry.segments.as_deref().unwrap_or(&whole) {
        if segment.offset > at {
            hash_zeros(&mut hasher, segment.offset - at);
            file.seek(SeekFrom::Start(segment.offset))?;
        }
        let mut left = segment.length;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(BUFFER).min(buffer.len());
            let read = reader.read_data(buffer.get_mut(..length).unwrap_or_default())?;
            let bytes = buffer.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                return Err(UnpackProblem::Archive("a file is shorter than its size"));
            }
            hasher.update(bytes);
            file.write_all(bytes)?;
            left -= read as u64;
        }
        at = segment.offset + segment.length;
    }
    if at < entry.size {
        hash_zeros(&mut hasher, entry.size - at);
        file.set_len(entry.size)?;
    }
    let stat = rustix::fs::fstat(&file)?;
    let mode = Mode::from_raw_mode((entry.mode & 0o777) | 0o400);
    if Mode::from_raw_mode(stat.st_mode) != mode {
        rustix::fs::fchmod(&file, mode)?;
    }
    file.set_modified(system_time(entry.modified))?;
    Ok(WrittenFile {
        inode: stat.st_ino,
        hash: hasher.finish().hex().to_owned(),
    })
}

/// A time in seconds since 1970; the nearest that files can have.
pub(super) fn system_time(seconds: i64) -> SystemTime {
    /// What 34 bits hold, as ext4 stores times.
    const LATEST: i64 = (1 << 34) - (1 << 31) - 1;
    let seconds = seconds.clamp(0, LATEST);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs())
}

fn hash_zeros(hasher: &mut DigestHasher, mut count: u64) {
    let zeros = [0; 8 << 10];
    while count > 0 {
        let length = usize::try_from(count).unwrap_or(zeros.len());
        let chunk = zeros.get(..length).unwrap_or(&zeros);
        hasher.update(chunk);
        count -= chunk.len() as u64;
    }
}
