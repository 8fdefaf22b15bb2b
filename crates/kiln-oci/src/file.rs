//! Small files, read beside the tasks that wait for them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

/// The bytes of a file that has at most so many.
pub(crate) async fn read(path: PathBuf, limit: u64) -> io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let message = format!("it has more than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    });
    read.await.map_err(io::Error::other)?
}
