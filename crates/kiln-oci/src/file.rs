//! Files with a size limit, read without blocking the async runtime.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

/// Reads a file of at most `limit` bytes.
pub(crate) async fn read_limited(path: PathBuf, limit: u64) -> io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let message = format!("larger than the limit of {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    });
    read.await.map_err(io::Error::other)?
}
