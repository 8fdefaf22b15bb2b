//! A value read from files that may change while a program runs.
//!
//! The files are not watched: each use of the value checks whether they have changed, which costs one system call per
//! file and works on every file system. If the new files are invalid, the old value stays in force.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

/// A value and the files that it is read from.
pub struct FileValue<T> {
    paths: Vec<PathBuf>,
    make: Box<Make<T>>,
    value: RwLock<Arc<T>>,
    seen: Mutex<Seen>,
}

type Make<T> = dyn Fn(&[Vec<u8>]) -> Result<T, String> + Send + Sync;

/// The result of checking the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refresh {
    /// The value has not changed, or another thread is checking.
    Unchanged,
    Changed,
    /// The files have changed and are invalid. Returned once; the old value stays.
    Failed(String),
}

/// Why the first load failed.
#[derive(Debug, thiserror::Error)]
pub enum FileValueError {
    #[error("read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The contents are invalid.
    #[error("{0}")]
    Make(String),
}

/// A larger file is not a configuration.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Files changed so recently may change again with the same time stamp: clocks of file systems tick slowly.
const TICK: Duration = Duration::from_millis(100);

struct Seen {
    stamps: Option<Vec<Stamp>>,
    /// The contents that the value was made of.
    contents: Vec<Vec<u8>>,
    /// The last failure that was returned.
    failure: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    identity: (u64, u64, i64, i64),
    /// Whether it was read long enough after its last modification.
    settled: bool,
}

impl<T> FileValue<T> {
    /// Reads the files and makes the value of their contents, in the order of `paths`.
    pub fn load(
        paths: Vec<PathBuf>,
        make: impl Fn(&[Vec<u8>]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<FileValue<T>, FileValueError> {
        let stamps = stamps(&paths).ok();
        let contents = read_all(&paths)?;
        let value = make(&contents).map_err(FileValueError::Make)?;
        Ok(FileValue {
            paths,
            make: Box::new(make),
            value: RwLock::new(Arc::new(value)),
            seen: Mutex::new(Seen {
                stamps,
                contents,
                failure: None,
            }),
        })
    }

    /// The value as last read.
    pub fn get(&self) -> Arc<T> {
        let value = self.value.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&value)
    }

    /// Reads the files again if they have changed.
    pub fn refresh(&self) -> Refresh {
        let Ok(mut seen) = self.seen.try_lock() else {
            return Refresh::Unchanged;
        };
        let now = stamps(&self.paths);
        if let (Ok(now), Some(before)) = (&now, &seen.stamps)
            && now == before
            && before.iter().all(|stamp| stamp.settled)
        {
            return Refresh::Unchanged;
        }
        let read = now.and_then(|stamps| Ok((stamps, read_all(&self.paths)?)));
        match read {
            Ok((stamps, contents)) => {
                seen.stamps = Some(stamps);
                if contents == seen.contents {
                    // The contents of the value are back, and may change again.
                    seen.failure = None;
                    return Refresh::Unchanged;
                }
                let made = (self.make)(&contents);
                match made {
                    Ok(value) => {
                        seen.failure = None;
                        seen.contents = contents;
                        let mut current =
                            self.value.write().unwrap_or_else(PoisonError::into_inner);
                        *current = Arc::new(value);
                        Refresh::Changed
                    }
                    Err(failure) => seen.fail(failure),
                }
            }
            Err(error) => {
                seen.stamps = None;
                let source = std::error::Error::source(&error);
                let source = source.map(|source| format!(": {source}"));
                seen.fail(format!("{error}{}", source.unwrap_or_default()))
            }
        }
    }
}

impl Seen {
    fn fail(&mut self, failure: String) -> Refresh {
        if self.failure.as_ref() == Some(&failure) {
            return Refresh::Unchanged;
        }
        self.failure = Some(failure.clone());
        Refresh::Failed(failure)
    }
}

fn stamps(paths: &[PathBuf]) -> Result<Vec<Stamp>, FileValueError> {
    let now = SystemTime::now();
    let stamp = |path: &PathBuf| {
        let metadata = fs::metadata(path).map_err(|source| unreadable(path, source))?;
        let modified = metadata.modified().ok();
        let age = modified.and_then(|modified| now.duration_since(modified).ok());
        Ok(Stamp {
            modified,
            length: metadata.len(),
            identity: identity(&metadata),
            settled: age.is_some_and(|age| age > TICK),
        })
    };
    paths.iter().map(stamp).collect()
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (
        metadata.dev(),
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    )
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64, i64, i64) {
    (0, 0, 0, 0)
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, FileValueError> {
    let read = |path: &PathBuf| read(path).map_err(|source| unreadable(path, source));
    paths.iter().map(read).collect()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)?;
    if length as u64 > MAX_FILE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("has more than {MAX_FILE} bytes"),
        ));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, source: io::Error) -> FileValueError {
    FileValueError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
