//! `bench functions`: functions of the catalog on lists of many sizes: in process, as a program, and the originals in Go.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use kiln_evaluators::NativeOptions;
use kiln_krm::Dialect;
use kiln_krm::read::read_input;
use kiln_runtime::{Evaluator, FunctionSpec, Input, RunContext};

use crate::child::{Usage, measure_with_input};
use crate::generate;
use crate::measure::peak_rss;
use crate::render::{best, geometric_mean};

const SIZES: [usize; 4] = [1, 100, 1_000, 10_000];
/// The size for the ratio.
const COUNTED: usize = 1_000;
const ROUNDS: usize = 3;
/// From this size on the originals take seconds per round.
const GO_ONCE_FROM: usize = 10_000;

/// The measured functions, with a configuration that changes every resource.
pub(crate) const FUNCTIONS: [(&str, &str); 4] = [
    (
        "set-namespace",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {namespace: prod}",
    ),
    (
        "set-labels",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {color: orange, tier: web}",
    ),
    (
        "starlark",
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {name: config}\nsource: |\n  \
         for resource in ctx.resource_list[\"items\"]:\n    \
         resource[\"metadata\"][\"annotations\"][\"seen\"] = resource[\"kind\"]\n",
    ),
    (
        "apply-replacements",
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: config}\nreplacements:\n\
         - source: {kind: Deployment, name: app-0, fieldPath: metadata.namespace}\n  \
         targets:\n  - select: {kind: Deployment}\n    fieldPaths: [metadata.namespace]\n",
    ),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kiln to measure.
    #[arg(long)]
    kiln: PathBuf,
    /// A directory with the originals, each named after its function; missing ones are not compared.
    #[arg(long)]
    originals: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for the lists")?;
    writeln!(
        out,
        "best of {ROUNDS}, of one round for the originals from {GO_ONCE_FROM} resources"
    )?;
    writeln!(
        out,
        "{:19} {:>9} {:>8} {:12} {:>9} {:>9} {:>9} {:>8}",
        "function", "resources", "input MB", "how", "wall s", "CPU s", "peak MB", "ratio"
    )?;
    let mut counted = Vec::new();
    for (name, config) in FUNCTIONS {
        for resources in SIZES {
            let input = directory.path().join("list.yaml");
            let list = generate::function_input(resources, config);
            let megabytes = list.len() as f64 / 1e6;
            fs::write(&input, list)?;
            let mut row = |how: &str, usage: Usage, ratio: &str| {
                writeln!(
                    out,
                    "{name:19} {resources:9} {megabytes:8.2} {how:12} {:9.4} {:9.4} {:9.1} {ratio:>8}",
                    usage.wall,
                    usage.cpu,
                    usage.peak as f64 / 1e6
                )
            };
            row("in process", in_process(name, &input)?, "")?;
            let program = |words: &[OsString], rounds| {
                best(rounds, || measure_with_input(words, Some(&input)))
            };
            let ours = [
                args.kiln.clone().into(),
                OsString::from("function"),
                OsString::from("run"),
                OsString::from(name),
            ];
            let ours = program(&ours, ROUNDS)?;
            row("executable", ours, "")?;
            let original = args
                .originals
                .as_ref()
                .map(|originals| originals.join(name));
            let Some(original) = original.filter(|original| original.is_file()) else {
                continue;
            };
            let rounds = if resources >= GO_ONCE_FROM { 1 } else { ROUNDS };
            let theirs = program(&[original.into()], rounds)?;
            let ratio = theirs.wall / ours.wall;
            row("Go", theirs, &format!("{ratio:.2}"))?;
            if resources == COUNTED {
                counted.push(ratio);
            }
        }
    }
    match geometric_mean(&counted) {
        Some(ratio) => writeln!(out, "ratio={ratio:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// A function on parsed trees; the peak is that of a process that holds the list.
fn in_process(name: &str, input: &Path) -> anyhow::Result<Usage> {
    let this = std::env::current_exe().context("cannot find this program")?;
    let command = [
        this.into(),
        OsString::from("native"),
        OsString::from(name),
        input.into(),
    ];
    let output = std::process::Command::new(&command[0])
        .args(&command[1..])
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    serde_json::from_slice(&output.stdout).context("a measurement printed something else")
}

#[derive(clap::Args)]
pub(crate) struct NativeArgs {
    /// The function.
    name: String,
    /// A ResourceList.
    input: PathBuf,
}

pub(crate) fn run_native(args: &NativeArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let list = read_input(fs::read(&args.input)?, Dialect::Current)?;
    let runner = NativeOptions::default()
        .evaluator()
        .find(&FunctionSpec::image(&args.name))?
        .into_runner();
    let mut wall = f64::INFINITY;
    for _ in 0..ROUNDS {
        let input = Input::new(Dialect::Current, &list.items, list.function_config.as_ref());
        let start = Instant::now();
        let outcome = runner.run(&input, &RunContext::default())?;
        wall = wall.min(start.elapsed().as_secs_f64());
        if !outcome.is_success() {
            bail!("{} failed: {}", args.name, outcome.stderr_text());
        }
    }
    let usage = Usage {
        wall,
        // One thread, always busy.
        cpu: wall,
        peak: peak_rss(),
    };
    writeln!(out, "{}", serde_json::to_string(&usage)?)?;
    Ok(())
}
