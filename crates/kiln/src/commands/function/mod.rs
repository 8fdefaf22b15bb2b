//! `kiln function`: the built-in functions as programs, for use from any tool, and functions of your own.

mod doc;
mod install;
mod json;
mod list;
mod new;
mod run;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use kiln_functions::registry::{FunctionInfo, FunctionVersion, Registry};

use crate::error::{CommandError, bail_usage};
use crate::functions::unknown_function::{UnknownFunction, unknown_name, unknown_version};
use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct FunctionArgs {
    #[command(subcommand)]
    command: FunctionCommand,
}

#[derive(Subcommand, Debug)]
enum FunctionCommand {
    /// List the built-in functions
    List(list::ListArgs),
    /// Print the documentation of a function
    Doc(doc::DocArgs),
    /// Run a function on a ResourceList, from standard input to standard output
    Run(run::RunArgs),
    /// Create links that run kiln as a built-in function
    Install(install::InstallArgs),
    /// Write a function with a test and a package to try it on
    New(new::NewArgs),
    /// Run a program that reads and writes a ResourceList as JSON
    Json(json::JsonArgs),
}

pub(crate) fn cmd_function(ui: &Ui, args: &FunctionArgs) -> Result<ExitCode> {
    let done = match &args.command {
        FunctionCommand::List(args) => list::cmd_list(ui, args),
        FunctionCommand::Doc(args) => doc::cmd_doc(ui, args),
        FunctionCommand::Run(args) => return run::cmd_run(ui, args),
        FunctionCommand::Install(args) => install::cmd_install(ui, args),
        FunctionCommand::New(args) => new::cmd_new(ui, args),
        FunctionCommand::Json(args) => return json::cmd_json(ui, args),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// The name of the function, if kiln was called through a link with such a name.
pub(crate) fn called_as(args: &[OsString]) -> Option<String> {
    let name = Path::new(args.first()?).file_name()?.to_str()?;
    let (function, _) = split_version(name);
    Registry::builtin().listed_function(function)?;
    Some(name.to_owned())
}

/// Runs a function as a program. It takes no arguments except `--help` and `--doc`.
pub(crate) fn cmd_as_function(ui: &Ui, name: &str, args: &[OsString]) -> Result<ExitCode> {
    match args {
        [] => run::run(ui, name),
        [flag] if flag == "--help" || flag == "--doc" => {
            doc::print(ui, documented(name)?).map(|()| ExitCode::SUCCESS)
        }
        [first, ..] => bail_usage!(
            "{name} reads a ResourceList from standard input and takes no arguments, got {}",
            first.display()
        ),
    }
}

/// Prints the documentation of a function.
pub(crate) fn print_doc(ui: &Ui, info: &FunctionInfo) -> Result<()> {
    doc::print(ui, info)
}

fn find(name: &str) -> Result<&'static FunctionInfo> {
    match Registry::builtin().listed_function(name) {
        Some(info) => Ok(info),
        None => Err(refused(unknown_name(name))),
    }
}

/// The function `NAME` or `NAME:VERSION`, if it has that version.
fn documented(function: &str) -> Result<&'static FunctionInfo> {
    let (name, version) = split_version(function);
    if version.is_some() {
        function_version(function)?;
    }
    find(name)
}

/// The name and the version of `NAME:VERSION`.
fn split_version(function: &str) -> (&str, Option<&str>) {
    match function.split_once(':') {
        Some((name, version)) => (name, Some(version)),
        None => (function, None),
    }
}

/// The function `NAME:VERSION`, or the newest version of `NAME`.
fn function_version(function: &str) -> Result<&'static FunctionVersion> {
    let (name, version) = split_version(function);
    let info = find(name)?;
    let found = match version {
        Some(version) => info.version(version),
        None => info.newest(),
    };
    match found {
        Some(function_version) => Ok(function_version),
        None => Err(refused(unknown_version(info, version.unwrap_or_default()))),
    }
}

fn refused(unknown: UnknownFunction) -> anyhow::Error {
    CommandError {
        hint: Some(
            unknown
                .suggestion
                .unwrap_or_else(|| "`kiln function list` lists the built-in functions".to_owned()),
        ),
        ..CommandError::usage(unknown.problem)
    }
    .into()
}
