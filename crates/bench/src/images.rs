//! `bench images`: images run by kiln in namespaces, by podman, and by crun and runc.
//!
//! The images are in podman's storage and, from archives, in a store of this run. All programs get the same list on their
//! standard input, and each start is measured from outside, as a user waits for it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::generate;
use crate::runner::load::{Load, at};
use crate::runner::server::Server;

const CAT: &str = "localhost/kiln/bench-cat:v1";
const LARGE: &str = "localhost/kiln/bench-large:v1";
const PYTHON: &str = "localhost/kiln/bench-python:v1";

/// Rounds of programs that take milliseconds, and of those that take a tenth of a second.
const ROUNDS: usize = 200;
const SLOW_ROUNDS: usize = 20;
const COLD_ROUNDS: usize = 5;
const CLIENTS: [usize; 2] = [1, 64];
const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}";

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    kiln: PathBuf,
    #[arg(long)]
    runner: PathBuf,
    /// Archive of the image that returns its input.
    #[arg(long)]
    cat: PathBuf,
    /// Archive of an image of 30 MB.
    #[arg(long)]
    large: PathBuf,
    /// Archive of the image with a function in Python.
    #[arg(long)]
    python: Option<PathBuf>,
    /// A program that runs OCI bundles. May be repeated.
    #[arg(long)]
    oci_runtime: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for the store")?;
    let store = directory.path().join("store");
    import(&args.kiln, &store, &args.cat)?;
    let one = list(1);
    writeln!(
        out,
        "{:44} {:>8} {:>8} {:>8}",
        "start of an image, one resource", "min ms", "p50 ms", "p95 ms"
    )?;
    let ours = sample(ROUNDS, || eval(&args.kiln, &store, CAT, &one))?;
    row(out, "kiln fn eval", &ours)?;
    let podman = other(out, "podman run", || podman(CAT, &one))?;
    if !args.oci_runtime.is_empty() {
        let bundle = bundle(&store, directory.path())?;
        for program in &args.oci_runtime {
            let name = format!("{} run", program.display());
            other(out, &name, || run_bundle(program, &bundle, &one))?;
        }
    }
    serve(args, &store, &one, out)?;
    let cold = sample(COLD_ROUNDS, || {
        let empty = tempfile::tempdir_in(directory.path())?;
        let started = Instant::now();
        import(&args.kiln, &empty.path().join("store"), &args.large)?;
        Ok(started.elapsed().as_secs_f64())
    })?;
    let packed = fs::metadata(&args.large)?.len() as f64 / 1e6;
    row(
        out,
        &format!("{LARGE} unpacked ({packed:.0} MB packed)"),
        &cold,
    )?;
    if let Some(python) = &args.python {
        import(&args.kiln, &store, python)?;
        let many = list(1_000);
        let ours = sample(SLOW_ROUNDS, || eval(&args.kiln, &store, PYTHON, &many))?;
        row(out, "1,000 resources through Python, kiln", &ours)?;
        other(out, "1,000 resources through Python, podman", || {
            self::podman(PYTHON, &many)
        })?;
    }
    match podman {
        Some(podman) => writeln!(out, "ratio={:.1}", at(&podman, 0.5)? / at(&ours, 0.5)?)?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// Measures a program to compare with. One that does not run on this machine is a line that says so.
fn other(
    out: &mut dyn Write,
    name: &str,
    run: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Option<Vec<f64>>> {
    match sample(SLOW_ROUNDS, run) {
        Ok(times) => {
            row(out, name, &times)?;
            Ok(Some(times))
        }
        Err(error) => {
            let text = format!("{error:#}");
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            let reason = last.unwrap_or_default();
            writeln!(out, "{name:44} does not run here: {reason}")?;
            Ok(None)
        }
    }
}

/// Calls through the function runner.
fn serve(args: &Args, store: &Path, one: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let store = store.to_string_lossy();
    let arguments = [
        "--disable-runtimes=pod,exec,native",
        "--config=",
        "--image-store",
        &store,
    ];
    let server = Server::start(&args.runner, &arguments)?;
    for clients in CLIENTS {
        let load = Load {
            clients,
            image: CAT.to_owned(),
            list: one.to_owned(),
        };
        let measured = load.run(&server)?;
        writeln!(
            out,
            "function-runner, {clients:2} clients: p50 {:.2} ms, p99 {:.2} ms, {:.0} calls/s",
            measured.p50 * 1e3,
            measured.p99 * 1e3,
            measured.rate
        )?;
    }
    Ok(())
}

/// Resources as a function gets them.
fn list(count: usize) -> String {
    generate::function_input(count, CONFIG)
}

/// Sorted seconds of so many runs, after one that is not counted.
fn sample(rounds: usize, mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<Vec<f64>> {
    run()?;
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        times.push(run()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn row(out: &mut dyn Write, name: &str, times: &[f64]) -> anyhow::Result<()> {
    let millis = |part| at(times, part).map(|seconds| seconds * 1e3);
    writeln!(
        out,
        "{name:44} {:8.2} {:8.2} {:8.2}",
        millis(0.0)?,
        millis(0.5)?,
        millis(0.95)?
    )?;
    Ok(())
}

fn import(kiln: &Path, store: &Path, archive: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(kiln);
    command
        .args(["image", "import", "--store"])
        .arg(store)
        .arg(archive);
    timed(command, "").map(drop)
}

fn eval(kiln: &Path, store: &Path, image: &str, list: &str) -> anyhow::Result<f64> {
    let mut command = Command::new(kiln);
    command
        .args([
            "fn",
            "eval",
            "-",
            "--image-runtime=namespaces",
            "--image",
            image,
        ])
        .env("KILN_STORE", store);
    timed(command, list)
}

fn podman(image: &str, list: &str) -> anyhow::Result<f64> {
    let mut command = Command::new("podman");
    let arguments = ["run", "--rm", "-i", "--network", "none", "--user", "nobody"];
    command.args(arguments).arg(image);
    timed(command, list)
}

fn run_bundle(program: &Path, bundle: &Path, list: &str) -> anyhow::Result<f64> {
    let mut command = Command::new(program);
    // Control groups take most of its time; others cannot do without them.
    if program.file_name().is_some_and(|name| name == "crun") {
        command.arg("--cgroup-manager=disabled");
    }
    command
        .args(["run", "--bundle"])
        .arg(bundle)
        .arg(format!("kiln-bench-{}", std::process::id()));
    timed(command, list)
}

/// An OCI bundle with the unpacked image of the store as its root.
fn bundle(store: &Path, directory: &Path) -> anyhow::Result<PathBuf> {
    let roots = fs::read_dir(store.join("roots"))?;
    let root = roots.filter_map(Result::ok).next();
    let root = root.context("the store has no image")?.path().join("root");
    let bundle = directory.join("bundle");
    fs::create_dir(&bundle)?;
    let namespaces = ["pid", "network", "ipc", "uts", "mount", "cgroup"];
    let namespaces: Vec<Value> = namespaces
        .iter()
        .map(|kind| json!({"type": kind}))
        .collect();
    let config = json!({
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 65534, "gid": 65534},
            "args": ["/usr/local/bin/function"],
            "env": ["PATH=/usr/local/bin:/bin"],
            "cwd": "/",
            "noNewPrivileges": true,
        },
        "root": {"path": root, "readonly": true},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
        ],
        "linux": {"namespaces": namespaces},
    });
    fs::write(bundle.join("config.json"), config.to_string())?;
    Ok(bundle)
}

/// Seconds from the start of a program to its end. Its output must contain what its input had.
fn timed(mut command: Command, input: &str) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let bytes = input.as_bytes().to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output()?;
    let elapsed = started.elapsed().as_secs_f64();
    let _ = writer.join();
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || (!input.is_empty() && !stdout.contains("kind: ")) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{stderr}{stdout}", output.status);
    }
    Ok(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_run_is_a_line() {
        let mut out = Vec::new();
        let run = || -> anyhow::Result<f64> {
            bail!("\"crun\": exit status: 1\nunknown version of cgroups\n")
        };
        assert!(other(&mut out, "crun run", run).unwrap().is_none());
        let text = String::from_utf8(out).unwrap();
        let expected = "does not run here: unknown version of cgroups\n";
        assert!(
            text.starts_with("crun run ") && text.ends_with(expected),
            "{text}"
        );
    }
}
