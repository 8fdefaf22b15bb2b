//! `bench render`: kiln and kpt render packages of many sizes in the same run.
//!
//! First the functions are `cat`, so that the engine is measured and not the functions; then [`namespace_and_labels`]
//! compares what users get with the functions of the catalog, and [`unchanged`] what a render costs that changes nothing.

pub(crate) mod namespace_and_labels;
mod unchanged;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::chart::{Bar, BarGroup, Chart, MeasuredProgram};
use crate::child::{Usage, measure};
use crate::packages::Shape;

/// Functions that change nothing, so that the engine is measured.
const CATS: &str = "  - exec: cat\n  - exec: cat\n";
const SIZES: [usize; 5] = [1, 10, 100, 1_000, 5_000];
const PER_FILE: [usize; 2] = [1, 100];
const SUBPACKAGES: usize = 20;
/// Rendered once, and only by kiln, to check that its time is linear.
const LARGE: [usize; 2] = [10_000, 50_000];
const LARGE_PER_FILE: usize = 100;
/// Smaller packages measure mostly start-up, which has its own line.
const COUNTED_FROM: usize = 100;

const ROUNDS: usize = 3;
/// From this size on kpt takes half a minute per round.
const KPT_ONCE_FROM: usize = 5_000;
const STARTUP_ROUNDS: usize = 20;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kiln to measure.
    #[arg(long)]
    kiln: PathBuf,
    /// The kpt to compare with; without it, only kiln is measured.
    #[arg(long)]
    kpt: Option<PathBuf>,
    /// A directory with the original set-namespace and set-labels, which kpt runs as programs.
    #[arg(long)]
    originals: Option<PathBuf>,
    /// The kustomize to compare with.
    #[arg(long)]
    kustomize: Option<PathBuf>,
    /// Write a chart of the measured times to this file, as SVG.
    #[arg(long)]
    chart: Option<PathBuf>,
}

/// The size of the packages in the chart.
const CHARTED: usize = 1_000;

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let kpt = args.kpt.as_deref();
    let mut groups = vec![namespace_and_labels::compare(args, out)?];
    unchanged::compare(args, out)?;
    let flat = |per_file| {
        move |resources| Shape::Flat {
            resources,
            per_file,
        }
    };
    writeln!(
        out,
        "two calls of cat; best of {ROUNDS}, of one round for kpt from {KPT_ONCE_FROM} resources and for kiln above"
    )?;
    writeln!(
        out,
        "{:9} {:>9} {:12} {:>9} {:>9} {:>9} {:>8}",
        "program", "resources", "layout", "wall s", "CPU s", "peak MB", "ratio"
    )?;
    let mut counted = Vec::new();
    let shapes = PER_FILE.map(|per_file| SIZES.map(flat(per_file)));
    let tree = Shape::Tree {
        subpackages: SUBPACKAGES,
    };
    for shape in shapes.into_iter().flatten().chain([tree]) {
        let bars = compare(shape, &args.kiln, kpt, out)?;
        if matches!(shape, Shape::Flat { resources, .. } if resources >= COUNTED_FROM)
            && let [ours, theirs] = bars.as_slice()
        {
            counted.push(theirs.seconds / ours.seconds);
        }
        let heading = match shape {
            Shape::Flat {
                resources: CHARTED,
                per_file: 1,
            } => format!("{CHARTED} files, two calls of cat"),
            Shape::Tree { subpackages } => {
                format!("{subpackages} sub-packages of 10 resources, two calls of cat in each")
            }
            Shape::Flat { .. } => continue,
        };
        groups.push(BarGroup { heading, bars });
    }
    for shape in LARGE.map(flat(LARGE_PER_FILE)) {
        let ours = render(shape, CATS, &args.kiln, 1)?;
        write_row("kiln", shape, ours, "", out)?;
    }
    let mut bars = vec![startup(
        MeasuredProgram::Kiln,
        &args.kiln,
        "--version",
        out,
    )?];
    if let Some(kpt) = kpt {
        bars.push(startup(MeasuredProgram::Kpt, kpt, "version", out)?);
    }
    if let Some(kustomize) = &args.kustomize {
        bars.push(startup(
            MeasuredProgram::Kustomize,
            kustomize,
            "version",
            out,
        )?);
    }
    groups.push(BarGroup {
        heading: "start".to_owned(),
        bars,
    });
    if let Some(path) = &args.chart {
        let chart = Chart {
            title: "Time to render, less is better".to_owned(),
            note: format!("bench/run render: best of {ROUNDS} runs"),
            groups,
        };
        fs::write(path, chart.to_svg())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match geometric_mean(&counted) {
        Some(ratio) => writeln!(out, "ratio={ratio:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// Measures both programs on one package and returns the times of kiln and of kpt.
fn compare(
    shape: Shape,
    kiln: &Path,
    kpt: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<Vec<Bar>> {
    let ours = render(shape, CATS, kiln, ROUNDS)?;
    write_row("kiln", shape, ours, "", out)?;
    let mut bars = vec![ours.bar(MeasuredProgram::Kiln)];
    let Some(kpt) = kpt else {
        return Ok(bars);
    };
    let rounds = if shape.resources() >= KPT_ONCE_FROM {
        1
    } else {
        ROUNDS
    };
    let theirs = render(shape, CATS, kpt, rounds)?;
    let ratio = theirs.wall / ours.wall;
    write_row("kpt", shape, theirs, &format!("{ratio:.2}"), out)?;
    bars.push(theirs.bar(MeasuredProgram::Kpt));
    Ok(bars)
}

/// The fastest of some renders, each of a fresh package.
pub(crate) fn render(
    shape: Shape,
    pipeline: &str,
    program: &Path,
    rounds: usize,
) -> anyhow::Result<Usage> {
    best(rounds, || {
        let directory = tempfile::tempdir().context("cannot create a directory for the package")?;
        let root = directory.path().join("package");
        fs::create_dir(&root).and_then(|()| shape.write(&root, pipeline))?;
        let usage = measure(&[
            program.into(),
            OsString::from("fn"),
            OsString::from("render"),
            root.clone().into(),
            OsString::from("--allow-exec"),
        ])?;
        // Both programs record success in the Kptfile.
        let kptfile = fs::read_to_string(root.join("Kptfile"))?;
        if !kptfile.contains("RenderSuccess") {
            bail!("{} did not render the package", program.display());
        }
        Ok(usage)
    })
}

/// The start-up time: print the version.
fn startup(
    measured: MeasuredProgram,
    program: &Path,
    question: &str,
    out: &mut dyn Write,
) -> anyhow::Result<Bar> {
    let name = measured.name();
    let command = [program.into(), OsString::from(question)];
    let usage = best(STARTUP_ROUNDS, || measure(&command))?;
    writeln!(
        out,
        "start-up, {name} {question}: {:.1} ms, {:.1} MB",
        usage.wall * 1e3,
        usage.peak as f64 / 1e6
    )?;
    Ok(usage.bar(measured))
}

/// The fastest of some rounds.
pub(crate) fn best(
    rounds: usize,
    mut round: impl FnMut() -> anyhow::Result<Usage>,
) -> anyhow::Result<Usage> {
    let mut best = round()?;
    for _ in 1..rounds {
        let usage = round()?;
        if usage.wall < best.wall {
            best = usage;
        }
    }
    Ok(best)
}

fn write_row(
    program: &str,
    shape: Shape,
    usage: Usage,
    ratio: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(
        out,
        "{program:9} {:9} {:12} {:9.3} {:9.3} {:9.1} {ratio:>8}",
        shape.resources(),
        shape.layout(),
        usage.wall,
        usage.cpu,
        usage.peak as f64 / 1e6
    )?;
    Ok(())
}

pub(crate) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}
