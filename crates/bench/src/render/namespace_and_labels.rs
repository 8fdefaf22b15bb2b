//! One job in three programs: a namespace and two labels on 1,000 resources, each in its file.
//!
//! kiln runs its built-in functions, kpt the originals as programs (which is faster than as containers), and kustomize its own
//! transformers. kustomize prints the resources; the others change the files.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Context;

use super::{Args, ROUNDS, best, render};
use crate::chart::{BarGroup, MeasuredProgram};
use crate::child::{Usage, measure};
use crate::packages::{Shape, write_kustomization};

const RESOURCES: usize = 1_000;
const CALLS: [(&str, &str); 2] = [
    ("set-namespace", "{namespace: prod}"),
    ("set-labels", "{color: orange, tier: web}"),
];
const TRANSFORMERS: &str = "namespace: prod
labels:
- pairs: {color: orange, tier: web}
  includeSelectors: true
";

/// Measures the programs that are there.
pub(super) fn compare(args: &Args, out: &mut dyn Write) -> anyhow::Result<BarGroup> {
    let heading = format!("{RESOURCES} files, a namespace and two labels");
    writeln!(out, "{heading}; best of {ROUNDS}")?;
    writeln!(
        out,
        "{:32} {:>9} {:>9} {:>9} {:>8}",
        "program", "wall s", "CPU s", "peak MB", "ratio"
    )?;
    let shape = Shape::Flat {
        resources: RESOURCES,
        per_file: 1,
    };
    let ours = render(shape, &native_pipeline(), &args.kiln, ROUNDS)?;
    write_row("kiln, built-in functions", ours, "", out)?;
    let mut bars = vec![ours.bar(MeasuredProgram::Kiln)];
    let ratio = |theirs: Usage| format!("{:.2}", theirs.wall / ours.wall);
    if let (Some(kpt), Some(originals)) = (&args.kpt, &args.originals) {
        let programs = mutators(|name| format!("exec: {}", originals.join(name).display()));
        let theirs = render(shape, &programs, kpt, ROUNDS)?;
        write_row(
            "kpt, functions in Go as programs",
            theirs,
            &ratio(theirs),
            out,
        )?;
        bars.push(theirs.bar(MeasuredProgram::Kpt));
    }
    if let Some(kustomize) = &args.kustomize {
        let directory = tempfile::tempdir().context("cannot create a directory for kustomize")?;
        write_kustomization(directory.path(), RESOURCES, TRANSFORMERS)?;
        let command = [
            kustomize.into(),
            OsString::from("build"),
            directory.path().into(),
        ];
        let theirs = best(ROUNDS, || measure(&command))?;
        write_row("kustomize build", theirs, &ratio(theirs), out)?;
        bars.push(theirs.bar(MeasuredProgram::Kustomize));
    }
    Ok(BarGroup { heading, bars })
}

/// The pipeline of built-in functions.
pub(crate) fn native_pipeline() -> String {
    mutators(|name| format!("image: {name}"))
}

/// The pipeline, with each function as `call` names it.
fn mutators(call: impl Fn(&str) -> String) -> String {
    let entry = |(name, config)| format!("  - {}\n    configMap: {config}\n", call(name));
    CALLS.map(entry).concat()
}

pub(crate) fn write_row(
    program: &str,
    usage: Usage,
    ratio: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(
        out,
        "{program:32} {:9.4} {:9.4} {:9.1} {ratio:>8}",
        usage.wall,
        usage.cpu,
        usage.peak as f64 / 1e6
    )?;
    Ok(())
}
