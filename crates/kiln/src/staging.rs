//! Temporary directories.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// A temporary directory, removed at the end unless it is to be kept.
pub(crate) struct Staging {
    pub(crate) path: PathBuf,
    is_kept: bool,
}

impl Staging {
    pub(crate) fn create(is_kept: bool) -> Result<Staging> {
        let top = std::env::temp_dir();
        for attempt in 0..1000 {
            let path = top.join(format!("kpt-{}{attempt:03}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Staging { path, is_kept }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context("failed to create stage dir"),
            }
        }
        bail!("failed to create stage dir in {}", top.display())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
