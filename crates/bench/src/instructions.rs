//! `bench instructions`: how many instructions fixed pieces of work take, counted by callgrind.
//!
//! A count hardly depends on the machine or on what else runs on it, so two commits can be compared by it. Only the
//! program itself is counted, not the programs that it starts.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::functions::FUNCTIONS;
use crate::generate;
use crate::packages::Shape;

const RESOURCES: usize = 1_000;
const LIST_BYTES: usize = 1_000_000;
const NATIVE: &str = "  - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:latest
    configMap: {namespace: prod}
  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:latest
    configMap: {color: orange, tier: web}
";
const CATS: &str = "  - exec: cat\n  - exec: cat\n";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kiln to measure.
    #[arg(long)]
    kiln: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot make a directory for the inputs")?;
    let kiln = args.kiln.as_os_str();
    writeln!(out, "{:52} {:>12}", "work", "M instr.")?;
    let mut row = |what: &str, count: u64| {
        let millions = count as f64 / 1e6;
        writeln!(out, "{what:52} {millions:12.1}")
    };
    row("kiln --version", count(kiln, &["--version"], None)?)?;
    for (what, pipeline) in [("set-namespace, set-labels", NATIVE), ("cat, cat", CATS)] {
        for (layout, shape) in shapes() {
            let package = directory.path().join("package");
            fs::create_dir(&package).and_then(|()| shape.write(&package, pipeline))?;
            let words = [
                OsStr::new("fn"),
                OsStr::new("render"),
                package.as_os_str(),
                OsStr::new("--allow-exec"),
                OsStr::new("--jobs=1"),
            ];
            let instructions = count(kiln, &words, None)?;
            fs::remove_dir_all(&package)?;
            row(&format!("render {layout}: {what}"), instructions)?;
        }
    }
    let list = directory.path().join("list.yaml");
    for (name, config) in FUNCTIONS {
        for resources in [1, RESOURCES] {
            fs::write(&list, generate::function_input(resources, config))?;
            let instructions = count(kiln, &["function", "run", name], Some(&list))?;
            row(
                &format!("{name} as a program, {resources} resources"),
                instructions,
            )?;
        }
    }
    fs::write(&list, generate::resource_list(LIST_BYTES))?;
    let this = std::env::current_exe().context("cannot find this program")?;
    let rewrite = |rounds: &str| {
        let words = [
            OsStr::new("measure"),
            OsStr::new("--file"),
            list.as_os_str(),
            OsStr::new(rounds),
        ];
        count(this.as_os_str(), &words, None)
    };
    // Two rounds less one: what the start and the reading of the file take does not count.
    let once = rewrite("--rounds=2")?.saturating_sub(rewrite("--rounds=1")?);
    row("YAML parse and emit, a list of 1 MB", once)?;
    Ok(())
}

/// The packages, and what to call them.
fn shapes() -> [(String, Shape); 2] {
    let flat = Shape::Flat {
        resources: RESOURCES,
        per_file: 1,
    };
    let tree = Shape::Tree { subpackages: 20 };
    [flat, tree].map(|shape| {
        (
            format!("{} resources, {}", shape.resources(), shape.layout()),
            shape,
        )
    })
}

/// The instructions of a program from its start to its end.
fn count(
    program: &OsStr,
    words: &[impl AsRef<OsStr>],
    stdin: Option<&Path>,
) -> anyhow::Result<u64> {
    let profile = tempfile::NamedTempFile::new().context("cannot make a file for the profile")?;
    let mut to_profile = OsString::from("--callgrind-out-file=");
    to_profile.push(profile.path());
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(to_profile)
        .arg(program)
        .args(words);
    command.stdin(match stdin {
        Some(path) => File::open(path)?.into(),
        None => Stdio::null(),
    });
    let output = command
        .output()
        .context("cannot start valgrind: is it installed?")?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    let text = fs::read_to_string(profile.path())?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.context("callgrind wrote no total")?;
    Ok(total.trim().parse()?)
}
