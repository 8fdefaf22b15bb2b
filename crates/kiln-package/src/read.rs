//! Reading many files at once, with the outcome of reading them one after the other.
//!
//! Threads take the next path from a common counter, so that a large file holds up only the thread that has it.
//! Resources come in the order of the paths, and of several failures the one of the first path is told.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use kiln_krm::Resource;
use kiln_krm::package::{FileSource, PackageError};
use kiln_krm::read::{FileOptions, read_file};

/// Fewer files than this are not worth a second thread.
const FILES_PER_THREAD: usize = 16;

/// Reads files in this order, on as many cores as are worth it.
pub fn read_files(
    files: &dyn FileSource,
    paths: &[String],
    options: &FileOptions<'_>,
) -> Result<Vec<Resource>, PackageError> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.min(paths.len() / FILES_PER_THREAD).max(1);
    read_on_threads(files, paths, options, threads)
}

fn read_on_threads(
    files: &dyn FileSource,
    paths: &[String],
    options: &FileOptions<'_>,
    threads: usize,
) -> Result<Vec<Resource>, PackageError> {
    let next = AtomicUsize::new(0);
    // The lowest place at which reading failed. Paths are handed out in order, so that all before it get read.
    let failed_at = AtomicUsize::new(usize::MAX);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place > failed_at.load(Ordering::Relaxed) {
                return done;
            }
            let Some(path) = paths.get(place) else {
                return done;
            };
            let outcome = read_one(files, path, options);
            if outcome.is_err() {
                failed_at.fetch_min(place, Ordering::Relaxed);
            }
            done.push((place, outcome));
        }
    };
    let mut all = Vec::with_capacity(paths.len());
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        all.extend(work());
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    all.sort_unstable_by_key(|(place, _)| *place);
    let mut resources = Vec::new();
    for (_, outcome) in all {
        resources.extend(outcome?);
    }
    Ok(resources)
}

fn read_one(
    files: &dyn FileSource,
    path: &str,
    options: &FileOptions<'_>,
) -> Result<Vec<Resource>, PackageError> {
    let bytes = files.read(path)?;
    read_file(path, bytes, options).map_err(|error| PackageError::Read {
        path: path.to_owned(),
        error: Box::new(error),
    })
}

#[cfg(test)]
mod tests {
    use kiln_krm::package::MemoryFiles;

    use super::*;

    fn many(count: usize, bad: &[usize]) -> (MemoryFiles, Vec<String>) {
        let mut files = MemoryFiles::new();
        let mut paths = Vec::new();
        for number in 0..count {
            let path = format!("f{number:04}.yaml");
            let content = match bad.contains(&number) {
                true => "a: b\n--- no\n".to_owned(),
                false => format!("kind: K\nmetadata:\n  name: n{number}\n"),
            };
            files.insert(path.clone(), content);
            paths.push(path);
        }
        (files, paths)
    }

    #[test]
    fn resources_come_in_order_on_any_number_of_threads() {
        let (files, paths) = many(500, &[]);
        for threads in [1, 2, 3, 8] {
            let resources = read_on_threads(&files, &paths, &FileOptions::default(), threads);
            let resources = resources.expect("reads");
            let names: Vec<_> = resources.iter().map(|resource| resource.name()).collect();
            let expected: Vec<_> = (0..500).map(|number| format!("n{number}")).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn the_first_error_is_told_on_any_number_of_threads() {
        let (files, mut paths) = many(400, &[399, 130, 131, 250]);
        paths.push("missing.yaml".into());
        for threads in [1, 2, 3, 8] {
            for _ in 0..20 {
                let outcome = read_on_threads(&files, &paths, &FileOptions::default(), threads);
                match outcome {
                    Err(PackageError::Read { path, .. }) => assert_eq!(path, "f0130.yaml"),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}
