//! `bench sandbox`: the cost of the strict sandbox for a program, on the idle machine and under load.
//!
//! Runs with and without a sandbox alternate, so that other load affects both. The median of many runs is used.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kiln_runtime::RunContext;
use kiln_runtime::process::{Program, StopSignal, run as run_program};
use kiln_sandbox::{HostEnvironment, Sandbox, SandboxPolicy};

/// Longest time of a measurement: slower programs get fewer runs.
const LONGEST: Duration = Duration::from_secs(40);

/// Number of busy processes. They have their own session, like a build in another terminal.
const BURNERS: usize = 30;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program to run; it reads a JSON object and prints one.
    #[arg(long)]
    program: PathBuf,
    /// Number of runs of each way.
    #[arg(long, default_value_t = 300)]
    rounds: usize,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let surroundings = HostEnvironment {
        environment: std::env::vars_os().collect(),
        temporary: std::env::temp_dir(),
    };
    let sandbox = Sandbox::new(SandboxPolicy::default(), surroundings)?;
    let measure = |name, program: &Path| Measurement {
        name,
        program: program.as_os_str().to_owned(),
        input: input(),
        sandbox: &sandbox,
    };
    let cat = measure("cat", Path::new("/bin/cat"));
    let function = measure("Go", &args.program);
    writeln!(
        out,
        "{:8} {:10} {:>6} {:>11} {:>11} {:>11} {:>11} {:>6}",
        "program",
        "machine",
        "runs",
        "off p50 ms",
        "off p90 ms",
        "strict p50",
        "strict p90",
        "ratio"
    )?;
    cat.row("as it is", args.rounds, out)?;
    function.row("as it is", args.rounds, out)?;
    let burners = Burners::start()?;
    cat.row("busy", args.rounds, out)?;
    let ratio = function.row("busy", args.rounds, out)?;
    drop(burners);
    writeln!(out, "ratio={ratio:.2}")?;
    Ok(())
}

struct Measurement<'a> {
    name: &'static str,
    program: OsString,
    input: Vec<u8>,
    sandbox: &'a Sandbox,
}

impl Measurement<'_> {
    fn row(&self, machine: &str, rounds: usize, out: &mut dyn Write) -> anyhow::Result<f64> {
        let (mut off, mut strict) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while off.len() < rounds.max(1) && (off.is_empty() || start.elapsed() < LONGEST) {
            off.push(self.once(None)?);
            strict.push(self.once(Some(self.sandbox))?);
        }
        off.sort_by(f64::total_cmp);
        strict.sort_by(f64::total_cmp);
        let at = |times: &[f64], part: f64| times[((times.len() - 1) as f64 * part) as usize];
        let ratio = at(&strict, 0.5) / at(&off, 0.5);
        writeln!(
            out,
            "{:8} {machine:10} {:>6} {:>11.2} {:>11.2} {:>11.2} {:>11.2} {ratio:>6.2}",
            self.name,
            off.len(),
            at(&off, 0.5),
            at(&off, 0.9),
            at(&strict, 0.5),
            at(&strict, 0.9),
        )?;
        Ok(ratio)
    }

    /// Milliseconds of one run, including start and end of the process.
    fn once(&self, sandbox: Option<&Sandbox>) -> anyhow::Result<f64> {
        let program = Program {
            name: self.program.to_str().context("the path is not UTF-8")?,
            arguments: &[],
            search_path: "".as_ref(),
            stop_signal: StopSignal::Kill,
            sandbox,
            environment: None,
        };
        let start = Instant::now();
        let finished = run_program(program, &self.input, &RunContext::default())?;
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        if finished.exit_code != 0 {
            bail!("{}", String::from_utf8_lossy(&finished.stderr));
        }
        Ok(elapsed)
    }
}

/// Ten small resources.
fn input() -> Vec<u8> {
    let item = |number: usize| {
        format!(r#"{{"kind":"ConfigMap","metadata":{{"name":"a{number}"}},"data":{{"k":"v"}}}}"#)
    };
    let items: Vec<String> = (0..10).map(item).collect();
    format!(r#"{{"kind":"ResourceList","items":[{}]}}"#, items.join(",")).into_bytes()
}

/// The processes are killed when this is dropped, and exit by themselves otherwise.
struct Burners {
    leader: Child,
}

impl Burners {
    fn start() -> anyhow::Result<Burners> {
        let seconds = 2 * LONGEST.as_secs();
        let script = format!(
            "for i in $(seq {BURNERS}); do timeout --foreground {seconds} sh -c 'echo; while :; do :; done' & done; wait"
        );
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", &script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut leader = command.spawn().context("cannot start burners")?;
        let lines = leader
            .stdout
            .take()
            .map(|stdout| BufReader::new(stdout).lines());
        let running = lines.into_iter().flatten().take(BURNERS).count();
        if running < BURNERS {
            bail!("only {running} of {BURNERS} burners run");
        }
        Ok(Burners { leader })
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        // The shell is the leader of the process group.
        let group = format!("-{}", self.leader.id());
        let mut kill = Command::new("kill");
        let _ = kill.args(["-KILL", "--", &group]).process_group(0).status();
        let _ = self.leader.wait();
    }
}
