//! `bench read`: reads a large package from disk and writes it back unchanged.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use kiln_krm::Dialect;
use kiln_krm::package::{
    Bytes, EmptiedFiles, ListOptions, PackageFile, ReadSet, Subpackages, WriteOptions,
    list_package_files, plan_write,
};
use kiln_krm::read::FileOptions;
use kiln_package::{ApplyOptions, DiskFiles, OutsideLinks, apply, available_threads, read_files};

use crate::generate;
use crate::measure::peak_rss;

const FILES: usize = 5_000;
const FILES_PER_DIRECTORY: usize = 50;
const RESOURCES_PER_FILE: usize = 20;
const ROUNDS: usize = 5;

pub(crate) fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for the package")?;
    let bytes = write_package(directory.path()).context("cannot write the package")?;
    let megabytes = bytes as f64 / 1e6;
    writeln!(
        out,
        "{FILES} files, {} resources, {megabytes:.1} MB, best of {ROUNDS}",
        FILES * RESOURCES_PER_FILE
    )?;
    writeln!(
        out,
        "{:12} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8}",
        "documents", "read s", "plan s", "write s", "files/s", "MB/s", "written"
    )?;
    for (name, handling) in [("kept", Bytes::Keep), ("re-encoded", Bytes::Reencode)] {
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            rounds.push(round(directory.path(), handling)?);
        }
        let best = rounds
            .into_iter()
            .min_by(|a, b| a.total().total_cmp(&b.total()));
        let best = best.context("no round was run")?;
        writeln!(
            out,
            "{name:12} {:8.3} {:8.3} {:8.3} {:9.0} {:8.1} {:8}",
            best.read,
            best.plan,
            best.write,
            FILES as f64 / best.total(),
            megabytes / best.total(),
            best.written
        )?;
    }
    writeln!(out, "peak memory {:.1} MB", peak_rss() as f64 / 1e6)?;
    Ok(())
}

/// Seconds of each part, and the number of files whose bytes changed.
struct Round {
    read: f64,
    plan: f64,
    write: f64,
    written: usize,
}

impl Round {
    fn total(&self) -> f64 {
        self.read + self.plan + self.write
    }
}

fn round(root: &Path, bytes: Bytes) -> anyhow::Result<Round> {
    let start = Instant::now();
    let files = DiskFiles::open(root, OutsideLinks::Refuse)?;
    let list = ListOptions::new(Dialect::Current, Subpackages::Include);
    let listed = list_package_files(&files, &list)?;
    let paths: Vec<String> = listed
        .into_iter()
        .map(|PackageFile { path, .. }| path)
        .collect();
    let resources = read_files(&files, &paths, &FileOptions::default())?;
    if resources.len() != FILES * RESOURCES_PER_FILE {
        bail!("read {} resources", resources.len());
    }
    let read = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let before = ReadSet::of(&resources);
    let options = WriteOptions {
        dialect: Dialect::Current,
        bytes,
        emptied_files: EmptiedFiles::Delete,
        package: root.display().to_string(),
        threads: available_threads(),
    };
    let changes = plan_write(resources, &before, &options)?;
    let plan = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let applied = apply(root, &changes, ApplyOptions::default())?;
    Ok(Round {
        read,
        plan,
        write: start.elapsed().as_secs_f64(),
        written: applied.written.len(),
    })
}

/// Writes the package's files and returns their size.
fn write_package(root: &Path) -> anyhow::Result<usize> {
    let mut bytes = 0;
    for file in 0..FILES {
        let directory = root.join(format!("dir-{}", file / FILES_PER_DIRECTORY));
        fs::create_dir_all(&directory)?;
        let numbers = file * RESOURCES_PER_FILE..(file + 1) * RESOURCES_PER_FILE;
        let resources: Vec<String> = numbers.map(generate::resource).collect();
        let text = resources.join("---\n");
        bytes += text.len();
        fs::write(directory.join(format!("file-{file}.yaml")), text)?;
    }
    Ok(bytes)
}
