//! `bench runner`: calls of functions over gRPC, with kiln's function runner and with one in Go that starts a program per call.
//!
//! The client is the same for both, in this process. For the comparison, kiln's runner runs programs without a sandbox too;
//! the sandbox has its own rows.
//!
//! With `--before`, native functions of two builds of kiln's runner are compared instead, and with `--status-page` native functions
//! of one build without and with its status page.

mod compare;
pub(crate) mod load;
pub(crate) mod server;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::generate;
use load::{Load, Measured};
use server::Server;

const CLIENTS: [usize; 3] = [1, 8, 64];
const SIZES: [usize; 2] = [10, 1_000];
/// The row for the ratio.
const COUNTED: (usize, usize) = (8, 10);
const NATIVE: &str = "set-namespace:v0.4.5";
const CAT: &str = "bench/cat";
const PROGRAM: &str = "bench/set-namespace";
const CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {namespace: prod}";
const BARE_ROUNDS: u32 = 500;
/// Programs without a sandbox.
const OPEN: &str = "--exec-sandbox=off";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The function runner to measure.
    #[arg(long)]
    runner: PathBuf,
    /// Another build of the function runner: only native functions of both are measured, alternately.
    #[arg(long)]
    before: Option<PathBuf>,
    /// Measure only native functions, alternately without and with the status page.
    #[arg(long, conflicts_with = "before")]
    status_page: bool,
    /// The runner in Go to compare with; without it, only kiln's is measured.
    #[arg(long)]
    peer: Option<PathBuf>,
    /// The original set-namespace, which both run as a program; without it, only `cat` is run.
    #[arg(long)]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for functions")?;
    let functions = directory.path().join("functions");
    fs::create_dir(&functions)?;
    symlink(which("cat")?, functions.join("cat"))?;
    if let Some(program) = &args.program {
        let program = fs::canonicalize(program).context("no such program")?;
        fs::copy(program, functions.join("set-namespace"))?;
    }
    let config = directory.path().join("config.yaml");
    fs::write(
        &config,
        format!(
            "functions:\n- function: cat\n  images: [{CAT}]\n\
             - function: set-namespace\n  images: [{PROGRAM}]\n"
        ),
    )?;
    writeln!(
        out,
        "{:22} {:22} {:>9} {:>7} {:>9} {:>8} {:>8} {:>9}",
        "server", "function", "resources", "clients", "calls/s", "p50 ms", "p99 ms", "CPU ms"
    )?;
    if let Some(before) = &args.before {
        let before = ours(before, &functions, &config, &[OPEN])?;
        let after = ours(&args.runner, &functions, &config, &[OPEN])?;
        return compare::compare(&before, &after, out);
    }
    if args.status_page {
        let status_page = [
            OPEN,
            "--status-address=127.0.0.1:0",
            "--status-show-messages",
        ];
        let before = ours(&args.runner, &functions, &config, &[OPEN])?;
        let after = ours(&args.runner, &functions, &config, &status_page)?;
        return compare::compare(&before, &after, out);
    }
    let mut table = Table {
        out,
        has_program: args.program.is_some(),
        counted: Vec::new(),
    };
    let open = ours(&args.runner, &functions, &config, &[OPEN])?;
    table.measure("kiln", &open, &[NATIVE, CAT, PROGRAM])?;
    let strict = ours(
        &args.runner,
        &functions,
        &config,
        &["--exec-sandbox=strict"],
    )?;
    table.measure("kiln, strict sandbox", &strict, &[CAT])?;
    let peer = args.peer.as_ref().map(|peer| {
        let functions = functions.to_string_lossy();
        Server::start(peer, &["--functions", &functions])
    });
    let peer = peer.transpose()?;
    if let Some(peer) = &peer {
        table.measure("Go", peer, &[CAT, PROGRAM])?;
    }
    let Table { counted, .. } = table;
    let servers = [("kiln", Some(&open)), ("Go", peer.as_ref())];
    for (name, server) in servers {
        let Some(server) = server else { continue };
        writeln!(
            out,
            "{name}: {:.1} ms from start to SERVING, {:.1} MB resident then, {:.1} MB after all calls",
            server.started_in.as_secs_f64() * 1e3,
            server.resident_at_start as f64 / 1e6,
            server.resident()? as f64 / 1e6
        )?;
    }
    for resources in SIZES {
        let seconds = bare_loop(&list(resources))?;
        writeln!(
            out,
            "cat without any server, {resources} resources, one after the other: {:.2} ms",
            seconds * 1e3
        )?;
    }
    let rate = |function| {
        let found = counted.iter().find(|(name, _)| *name == function);
        found.map(|(_, rate)| *rate)
    };
    match (rate(("kiln", NATIVE)), rate(("Go", PROGRAM))) {
        (Some(ours), Some(theirs)) => writeln!(out, "ratio={:.2}", ours / theirs)?,
        _ => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// The rows, and the two for the ratio.
struct Table<'a> {
    out: &'a mut dyn Write,
    has_program: bool,
    counted: Vec<((&'static str, &'static str), f64)>,
}

impl Table<'_> {
    fn measure(
        &mut self,
        name: &'static str,
        server: &Server,
        functions: &[&'static str],
    ) -> anyhow::Result<()> {
        for function in functions {
            if *function == PROGRAM && !self.has_program {
                continue;
            }
            for resources in SIZES {
                for clients in CLIENTS {
                    let load = Load {
                        clients,
                        image: (*function).to_owned(),
                        list: list(resources),
                    };
                    let measured = load.run(server)?;
                    write_row(self.out, name, function, &load, resources, &measured)?;
                    if (clients, resources) == COUNTED {
                        self.counted.push(((name, function), measured.rate));
                    }
                }
            }
        }
        Ok(())
    }
}

fn write_row(
    out: &mut dyn Write,
    server: &str,
    function: &str,
    load: &Load,
    resources: usize,
    measured: &Measured,
) -> anyhow::Result<()> {
    let Measured {
        rate,
        p50,
        p99,
        cpu,
    } = measured;
    writeln!(
        out,
        "{server:22} {function:22} {resources:9} {:7} {rate:9.0} {:8.3} {:8.3} {:9.3}",
        load.clients,
        p50 * 1e3,
        p99 * 1e3,
        cpu * 1e3
    )?;
    Ok(())
}

fn ours(runner: &Path, functions: &Path, config: &Path, flags: &[&str]) -> anyhow::Result<Server> {
    let (functions, config) = (functions.to_string_lossy(), config.to_string_lossy());
    let own = [
        "--functions",
        &functions,
        "--config",
        &config,
        "--disable-runtimes=pod",
        "--log-level=0",
    ];
    Server::start(runner, &[&own, flags].concat())
}

fn list(resources: usize) -> String {
    generate::function_input(resources, CONFIG)
}

/// The duration of one run of `cat` without a server.
fn bare_loop(list: &str) -> anyhow::Result<f64> {
    let cat = which("cat")?;
    let start = Instant::now();
    for _ in 0..BARE_ROUNDS {
        let mut child = Command::new(&cat)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no pipe")?;
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(list.as_bytes()));
            child.wait_with_output()
        })?;
        if output.stdout.len() != list.len() {
            bail!("cat gave back something else");
        }
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(BARE_ROUNDS))
}

fn which(program: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|place| place.join(program));
    places
        .find(|place| place.is_file())
        .with_context(|| format!("no {program} on the search path"))
}
