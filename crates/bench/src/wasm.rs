//! `bench wasm`: the same function in WebAssembly, on both engines, as an executable and as an image.
//!
//! All run in or from this process through the port of evaluators, so that only the way of running differs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kiln_exec::ExecEvaluator;
use kiln_krm::Dialect;
use kiln_runtime::{Evaluator, FunctionSpec, Input, RunContext, Runner, Target};
use kiln_wasm::{WasmEngine, WasmEvaluator, WasmOptions};

use crate::generate;
use crate::program_image::ProgramImage;

const SIZES: [usize; 3] = [10, 1_000, 10_000];
/// The size for the ratio.
const COUNTED: usize = 10;
/// A row is measured for this long, and at least this often.
const LONG_ENOUGH: Duration = Duration::from_secs(2);
const LEAST_ROUNDS: usize = 5;
const MOST_ROUNDS: usize = 2_000;

const CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {owner: bench}";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The function in Rust, as a module.
    #[arg(long)]
    rust_module: Option<PathBuf>,
    /// The function in Rust, as a program.
    #[arg(long)]
    rust_program: PathBuf,
    /// The function in Rust, as a static program for an image.
    #[arg(long)]
    rust_static_program: Option<PathBuf>,
    /// The function in Go, as a module of WASI.
    #[arg(long)]
    go_module: Option<PathBuf>,
    /// The function in Go, as a module for js.
    #[arg(long)]
    go_js_module: Option<PathBuf>,
    /// The function in Go, as a program.
    #[arg(long)]
    go_program: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{:16} {:12} {:>9} {:>10} {:>10} {:>10}",
        "function", "engine", "resources", "first ms", "p50 ms", "best ms"
    )?;
    let rust = measure(out, "Rust", "executable", &program(&args.rust_program)?)?;
    if let Some(path) = &args.rust_static_program {
        match ProgramImage::of(path) {
            Ok(image) => {
                measure(out, "Rust", "image", &move || image.runner())?;
            }
            Err(error) => writeln!(out, "no image: {error:#}")?,
        }
    }
    let mut ratio = None;
    if let Some(path) = &args.rust_module {
        let compiled = engines(out, "Rust, WASI", path)?;
        ratio = Some(("Rust", rust, compiled));
    }
    let go = match &args.go_program {
        Some(path) => Some(measure(out, "Go", "executable", &program(path)?)?),
        None => None,
    };
    if let Some(path) = &args.go_module {
        let compiled = engines(out, "Go, WASI", path)?;
        ratio = ratio.or_else(|| Some(("Go", go?, compiled)));
    }
    if let Some(path) = &args.go_js_module {
        engines(out, "Go, js", path)?;
    }
    match ratio {
        Some((language, program, compiled)) => {
            writeln!(
                out,
                "ratio of {language}, {COUNTED} resources: executable to compiled module"
            )?;
            let ratio = program.as_secs_f64() / compiled.as_secs_f64();
            writeln!(out, "ratio={ratio:.2}")?;
        }
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// Measures a module on both engines. Returns the median of the compiler.
fn engines(out: &mut dyn Write, function: &str, path: &Path) -> anyhow::Result<Duration> {
    let interpreter = module(path, WasmEngine::Interpreter)?;
    measure(out, function, "interpreter", &interpreter)?;
    measure(
        out,
        function,
        "compiler",
        &module(path, WasmEngine::Compiler)?,
    )
}

/// A function that is made ready anew for each row.
type Ready = dyn Fn() -> anyhow::Result<std::sync::Arc<dyn Runner>>;

fn program(path: &Path) -> anyhow::Result<Box<Ready>> {
    let target = target(path)?;
    Ok(Box::new(move || {
        let found = ExecEvaluator::new("").find(&FunctionSpec::new(target.clone()))?;
        Ok(found.into_runner())
    }))
}

fn module(path: &Path, engine: WasmEngine) -> anyhow::Result<Box<Ready>> {
    let target = target(path)?;
    Ok(Box::new(move || {
        let evaluator = WasmEvaluator::new(WasmOptions {
            engine,
            ..WasmOptions::default()
        });
        Ok(evaluator
            .find(&FunctionSpec::new(target.clone()))?
            .into_runner())
    }))
}

fn target(path: &Path) -> anyhow::Result<Target> {
    let path = path
        .canonicalize()
        .with_context(|| format!("no file {}", path.display()))?;
    Ok(Target::Program(path.display().to_string()))
}

/// Writes a row for each size. Returns the median of the size for the ratio.
fn measure(
    out: &mut dyn Write,
    function: &str,
    engine: &str,
    ready: &Ready,
) -> anyhow::Result<Duration> {
    let mut counted = Duration::ZERO;
    let runner = ready()?;
    for size in SIZES {
        let list = generate::function_input(size, CONFIG);
        let call = || -> anyhow::Result<Duration> {
            let input = Input::from_wire(Dialect::Current, &list);
            let started = Instant::now();
            let outcome = runner.run(&input, &RunContext::default())?;
            let elapsed = started.elapsed();
            if !outcome.is_success() {
                bail!("{function}, {engine}: {}", outcome.stderr_text());
            }
            Ok(elapsed)
        };
        let first = call()?;
        let mut times = Vec::new();
        let started = Instant::now();
        while times.len() < LEAST_ROUNDS
            || (started.elapsed() < LONG_ENOUGH && times.len() < MOST_ROUNDS)
        {
            times.push(call()?);
        }
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        let best = times.first().copied().unwrap_or_default();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        writeln!(
            out,
            "{function:16} {engine:12} {size:9} {:10.3} {:10.3} {:10.3}",
            milliseconds(first),
            milliseconds(median),
            milliseconds(best)
        )?;
        if size == COUNTED {
            counted = median;
        }
    }
    Ok(counted)
}
