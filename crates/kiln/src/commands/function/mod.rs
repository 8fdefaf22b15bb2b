//! `kiln function …`: the functions that are built in, as programs for every other tool.

mod doc;
mod install;
mod list;
mod run;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use kiln_functions::registry::{FunctionInfo, FunctionVersion, Registry};

use crate::ui::Ui;

/// Flags of `kiln function`.
#[derive(Args, Debug)]
pub(crate) struct FunctionArgs {
    #[command(subcommand)]
    command: FunctionCommand,
}

#[derive(Subcommand, Debug)]
enum FunctionCommand {
    /// List the functions that are built in
    List(list::ListArgs),
    /// Tell what a function does and how it is configured
    Doc(doc::DocArgs),
    /// Run a function: a ResourceList on standard input, the answer on standard output
    Run(run::RunArgs),
    /// Make links by which kiln is called as the functions that are built in
    Install(install::InstallArgs),
}

/// Does what `kiln function` is told to.
pub(crate) fn cmd_function(ui: &Ui, args: &FunctionArgs) -> Result<ExitCode> {
    let done = match &args.command {
        FunctionCommand::List(args) => list::cmd_list(ui, args),
        FunctionCommand::Doc(args) => doc::cmd_doc(ui, args),
        FunctionCommand::Run(args) => return run::cmd_run(ui, args),
        FunctionCommand::Install(args) => install::cmd_install(ui, args),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// The function as which kiln was called, through a link with its name.
pub(crate) fn called_as(args: &[OsString]) -> Option<String> {
    let name = Path::new(args.first()?).file_name()?.to_str()?;
    let (function, _) = split_version(name);
    Registry::builtin().function(function)?;
    Some(name.to_owned())
}

/// Does what the program of that name would do. It takes no arguments, but tells about itself if asked.
pub(crate) fn cmd_as_function(ui: &Ui, name: &str, args: &[OsString]) -> Result<ExitCode> {
    match args {
        [] => run::run(ui, name),
        [flag] if flag == "--help" || flag == "--doc" => {
            let (name, _) = split_version(name);
            doc::print(ui, find(name)?).map(|()| ExitCode::SUCCESS)
        }
        [first, ..] => bail!(
            "{name} takes a ResourceList on standard input and no arguments, not {}",
            first.display()
        ),
    }
}

fn find(name: &str) -> Result<&'static FunctionInfo> {
    match Registry::builtin().function(name) {
        Some(info) => Ok(info),
        None => {
            bail!("there is no function {name:?}; `kiln function list` shows which ones there are")
        }
    }
}

/// The name and the version of `NAME:VERSION`.
fn split_version(function: &str) -> (&str, Option<&str>) {
    match function.split_once(':') {
        Some((name, version)) => (name, Some(version)),
        None => (function, None),
    }
}

/// What `NAME:VERSION` does, or the newest version of `NAME`.
fn function_version(function: &str) -> Result<&'static FunctionVersion> {
    let (name, version) = split_version(function);
    let info = find(name)?;
    let found = match version {
        Some(version) => info.version(version),
        None => info.newest(),
    };
    match found {
        Some(function_version) => Ok(function_version),
        None => {
            let known: Vec<&str> = info.version_tags().collect();
            let version = version.unwrap_or_default();
            bail!(
                "{name} has no version {version:?} here; there are {}",
                known.join(", ")
            )
        }
    }
}
