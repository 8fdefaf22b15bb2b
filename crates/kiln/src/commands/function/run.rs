//! `kiln function run`

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_functions::{Context, Files, wire};
use kiln_krm::image::{DEFAULT_PREFIX, with_prefix};
use kiln_package::available_threads;
use kiln_policy::RunWay;
use kiln_runtime::{Deadline, FunctionSpec, RunContext};

use super::{find, function_version, split_version};
use crate::complete;
use crate::functions::policy::PolicyFlags;
use crate::ui::Ui;

/// Run a function on a ResourceList, from standard input to standard output
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln fn source app | kiln function run set-namespace:v0.4.1")]
pub(super) struct RunArgs {
    /// Function to run. Default version: the newest
    #[arg(value_name = "NAME[:VERSION]", add = ArgValueCompleter::new(complete::functions))]
    function: String,
}

pub(super) fn cmd_run(ui: &Ui, args: &RunArgs) -> Result<ExitCode> {
    run(ui, &args.function)
}

pub(super) fn run(ui: &Ui, function: &str) -> Result<ExitCode> {
    let function_version = function_version(function)?;
    let run = permitted(ui, function)?;
    let mut environment: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value.to_str()?)))
        .collect();
    environment.sort();
    let ctx = Context {
        environment: &environment,
        run: &run,
        files: &LocalFiles,
    };
    let answer = wire::run_on(available_threads(), function_version, ui.read_data()?, &ctx)?;
    ui.write_data(answer.stdout.as_bytes())?;
    // Unchanged, because other programs read it.
    io::stderr().write_all(answer.stderr.as_bytes())?;
    let code = u8::try_from(answer.exit_code).unwrap_or(u8::MAX);
    Ok(ExitCode::from(code))
}

/// Decides by the policy, as about the image of the catalog that the function stands for. Returns the limits of the call.
fn permitted(ui: &Ui, function: &str) -> Result<RunContext> {
    let mut run = RunContext::default();
    if let Some(policy) = PolicyFlags::default().load(ui)? {
        let image = FunctionSpec::image(with_prefix(DEFAULT_PREFIX, function));
        let (name, _) = split_version(function);
        let builtin = find(name)?.name;
        let permission = policy.decide(&image, RunWay::Native, Some(builtin))?;
        run.deadline = Deadline::at_most(None, permission.max.time);
    }
    Ok(run)
}

/// The file system.
struct LocalFiles;

impl Files for LocalFiles {
    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}
