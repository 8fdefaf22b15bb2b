//! `kiln pkg`: packages in plain directories, with the verbs of kpt.
//!
//! One file for each verb. What they do is in `kiln_task::pkg`; here are the flags, the files on disk and the texts.

mod cat;
mod diff;
mod directory;
mod errors;
mod get;
mod init;
mod sources;
mod tree;
mod uncommitted;
mod update;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use kiln_task::pkg::PkgRules;

use crate::compat::Compat;
use crate::error::{DIFFERENCES, bail_usage};
use crate::ui::Ui;

/// `kiln pkg`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct PkgArgs {
    #[command(subcommand)]
    command: PkgCommand,
}

#[derive(Subcommand, Debug)]
enum PkgCommand {
    /// Create an empty package
    Init(init::InitArgs),
    /// Fetch a package from a git repository or an image
    Get(get::PkgGetArgs),
    /// Update a package to another version of its upstream
    Update(update::UpdateArgs),
    /// Show the differences between a package and its upstream
    Diff(diff::DiffArgs),
    /// Print the resources, packages and files of a directory as a tree
    Tree(tree::TreeArgs),
    /// Print the resources and files of a package
    Cat(cat::CatArgs),
}

pub(crate) fn cmd_pkg(ui: &Ui, args: &PkgArgs) -> Result<ExitCode> {
    let done = match &args.command {
        PkgCommand::Init(args) => init::cmd_init(ui, args),
        PkgCommand::Get(args) => get::cmd_get(ui, args),
        PkgCommand::Tree(args) => tree::cmd_tree(ui, args),
        PkgCommand::Cat(args) => cat::cmd_cat(ui, args),
        PkgCommand::Update(args) => return update::cmd_update(ui, args),
        PkgCommand::Diff(args) => return diff::cmd_diff(ui, args),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// The rules of the compatibility mode.
fn rules(ui: &Ui) -> PkgRules {
    match ui.compat() {
        Compat::Kiln => PkgRules::Kiln,
        Compat::Kpt | Compat::KptV039 => PkgRules::Kpt,
    }
}

/// The only argument, or the default; more are refused in kpt's words.
fn only_argument<'a>(arguments: &'a [String], default: &'a str) -> Result<&'a str> {
    match arguments {
        [] => Ok(default),
        [one] => Ok(one),
        many => bail_usage!("accepts at most 1 arg(s), received {}", many.len()),
    }
}

/// The directory and the version in `DIR[@VERSION]`; `None` with more than one version. In kiln's own mode, the name of a directory
/// that exists may have an `@`.
fn named_version<'a>(ui: &Ui, text: &'a str) -> Option<(&'a str, Option<&'a str>)> {
    let is_directory = |text: &str| ui.compat() == Compat::Kiln && Path::new(text).is_dir();
    if is_directory(text) {
        return Some((text, None));
    }
    let (named, version) = match text.rsplit_once('@') {
        None => (text, None),
        Some((named, _)) if named.contains('@') && !is_directory(named) => return None,
        Some((named, version)) => (named, Some(version)),
    };
    Some((named, version.filter(|version| !version.is_empty())))
}
