//! Reading many files in parallel, with the result of reading them in sequence.
//!
//! Resources come in the order of the paths; of several failures the one of the first path is returned.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread;

use kiln_krm::Resource;
use kiln_krm::package::{FileSource, PackageError};
use kiln_krm::parallel::{Worth, try_map};
use kiln_krm::read::{FileOptions, read_file};

/// Reads files in this order, on as many cores as are worth it.
pub fn read_files(
    files: &dyn FileSource,
    paths: &[String],
    options: &FileOptions<'_>,
) -> Result<Vec<Resource>, PackageError> {
    read_on_threads(files, paths, options, available_threads())
}

/// The number of threads that can run in parallel. It is found once: that takes about twenty system calls, and a short command
/// needs it several times.
pub fn available_threads() -> NonZeroUsize {
    static THREADS: OnceLock<NonZeroUsize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

fn read_on_threads(
    files: &dyn FileSource,
    paths: &[String],
    options: &FileOptions<'_>,
    threads: NonZeroUsize,
) -> Result<Vec<Resource>, PackageError> {
    let paths: Vec<&String> = paths.iter().collect();
    let read = try_map(paths, threads, Worth::Files, |path| {
        read_one(files, path, options)
    })?;
    Ok(read.into_iter().flatten().collect())
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
        for threads in [1, 2, 3, 8].map(|count| NonZeroUsize::new(count).expect("not zero")) {
            let resources = read_on_threads(&files, &paths, &FileOptions::default(), threads);
            let resources = resources.expect("reads");
            let names: Vec<_> = resources.iter().map(|resource| resource.name()).collect();
            let expected: Vec<_> = (0..500).map(|number| format!("n{number}")).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn the_first_error_is_returned_on_any_number_of_threads() {
        let (files, mut paths) = many(400, &[399, 130, 131, 250]);
        paths.push("missing.yaml".into());
        for threads in [1, 2, 3, 8].map(|count| NonZeroUsize::new(count).expect("not zero")) {
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
