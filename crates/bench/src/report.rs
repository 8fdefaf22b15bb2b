//! `bench report`: what a report adds to a render of 1,000 files, when every file changes and when none does.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::child::{Usage, measure};
use crate::packages::Shape;
use crate::render::namespace_and_labels::{native_pipeline, write_row};

const FILES: usize = 1_000;
const ROUNDS: usize = 20;

/// The name of the report in each format; the first one counts.
const FORMATS: [&str; 4] = ["r.html", "r.json", "r.sarif", "r.junit.xml"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kiln to measure.
    #[arg(long)]
    kiln: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for the packages")?;
    let root = directory.path().join("package");
    let mut ratio = None;
    for is_fresh in [true, false] {
        let what = match is_fresh {
            true => "all changed",
            false => "none changed",
        };
        writeln!(
            out,
            "{FILES} files, a namespace and two labels, {what}; alternately, best of {ROUNDS}"
        )?;
        let mut times: Vec<Option<Usage>> = vec![None; FORMATS.len() + 1];
        write_package(&root)?;
        for _ in 0..ROUNDS {
            for (index, best) in times.iter_mut().enumerate() {
                if is_fresh {
                    write_package(&root)?;
                }
                let format = index.checked_sub(1).and_then(|index| FORMATS.get(index));
                let report = format.map(|name| directory.path().join(name));
                let usage = measure(&command(&args.kiln, &root, report.as_deref()))?;
                if best.is_none_or(|best| usage.wall < best.wall) {
                    *best = Some(usage);
                }
            }
        }
        let mut times = times.into_iter().flatten();
        let plain = times.next().context("nothing was measured")?;
        write_row("no report", plain, "", out)?;
        for (name, usage) in FORMATS.iter().zip(times) {
            let relative = usage.wall / plain.wall;
            ratio = ratio.or(Some(relative));
            write_row(name, usage, &format!("{relative:.2}"), out)?;
        }
    }
    match ratio {
        Some(ratio) => writeln!(out, "ratio={ratio:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

fn write_package(root: &Path) -> anyhow::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    let shape = Shape::Flat {
        resources: FILES,
        per_file: 1,
    };
    fs::create_dir(root).and_then(|()| shape.write(root, &native_pipeline()))?;
    Ok(())
}

/// A render. Kept results are off, because a render with a report does not use them.
fn command(kiln: &Path, root: &Path, report: Option<&Path>) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![kiln.into()];
    words.extend(["fn", "render"].map(OsString::from));
    words.extend([root.into(), OsString::from("--cache=off")]);
    if let Some(report) = report {
        words.extend([OsString::from("--report"), report.into()]);
    }
    words
}
