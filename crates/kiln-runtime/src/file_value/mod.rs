//! A value read from files that may change while a program runs. It may name further files.
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

/// A value, and further files that it was made of: a change of them makes it anew.
pub struct MadeValue<T> {
    pub value: T,
    pub files: Vec<PathBuf>,
}

type Make<T> = dyn Fn(&[Vec<u8>]) -> Result<MadeValue<T>, String> + Send + Sync;

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
    /// Files that the value was made of besides `paths`.
    further: Vec<PathBuf>,
    stamps: Option<Vec<Stamp>>,
    /// The contents that the value was made of, in the order of `paths` and `further`.
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
        FileValue::load_with_files(paths, move |contents| {
            let files = Vec::new();
            make(contents).map(|value| MadeValue { value, files })
        })
    }

    /// The same for a value that names further files, and reads them when it is made.
    pub fn load_with_files(
        paths: Vec<PathBuf>,
        make: impl Fn(&[Vec<u8>]) -> Result<MadeValue<T>, String> + Send + Sync + 'static,
    ) -> Result<FileValue<T>, FileValueError> {
        let make: Box<Make<T>> = Box::new(make);
        let (value, seen) = read_value(&paths, &*make)?;
        Ok(FileValue {
            paths,
            make,
            value: RwLock::new(Arc::new(value)),
            seen: Mutex::new(seen),
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
        let paths = [self.paths.as_slice(), seen.further.as_slice()].concat();
        let now = stamps(&paths);
        if let (Ok(now), Some(before)) = (&now, &seen.stamps)
            && now == before
            && before.iter().all(|stamp| stamp.settled)
        {
            return Refresh::Unchanged;
        }
        if let Ok(now) = now
            && let Ok(contents) = read_all(&paths)
            && contents == seen.contents
        {
            // The contents of the value are back, and may change again.
            seen.stamps = Some(now);
            seen.failure = None;
            return Refresh::Unchanged;
        }
        match read_value(&self.paths, &*self.make) {
            Ok((value, now)) => {
                *seen = now;
                let mut current = self.value.write().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(value);
                Refresh::Changed
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

/// Reads the files, and makes the value until the further files are known that it is made of: they are read before it, so that a
/// later change is noticed.
fn read_value<T>(paths: &[PathBuf], make: &Make<T>) -> Result<(T, Seen), FileValueError> {
    let mut further = Vec::new();
    loop {
        let all = [paths, further.as_slice()].concat();
        let stamps = stamps(&all).ok();
        let contents = read_all(&all)?;
        let own = contents.get(..paths.len()).unwrap_or_default();
        let MadeValue { value, files } = make(own).map_err(FileValueError::Make)?;
        if files == further {
            let seen = Seen {
                further,
                stamps,
                contents,
                failure: None,
            };
            return Ok((value, seen));
        }
        further = files;
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
