//! `kiln pkg update`

use std::process::ExitCode;

use anyhow::{Error, Result};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kiln_krm::kptfile::{FILE_NAME, Kptfile, KptfileError, KptfileProblem};
use kiln_krm::paths::join;
use kiln_pages::report::shell_word;
use kiln_task::merge::Conflict;
use kiln_task::pkg::{NewerVersion, PkgRules, UpdateError, UpdateRequest, newer_versions, update};
use kiln_task::{Contents, Strategy};

use super::directory::{PackageDirectory, changed_files, changes};
use super::sources::{GitTalk, with_sources};
use super::uncommitted::refuse_uncommitted;
use super::{DIFFERENCES, errors, named_version, only_argument, rules};
use crate::compat::Compat;
use crate::complete;
use crate::error::CommandError;
use crate::report::changes::{Made, report_names};
use crate::report::contents_diff::contents_diff;
use crate::report::preview::print_diff;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln pkg update app@v2")]
#[command(override_usage = "kiln pkg update [OPTIONS] [PKG_PATH@VERSION]")]
pub(super) struct UpdateArgs {
    /// Directory of the package and the new version. Default: the current directory, and the version in the Kptfile
    #[arg(value_name = "PKG_PATH@VERSION")]
    packages: Vec<String>,
    /// Merge strategy: resource-merge, fast-forward, force-delete-replace or copy-merge. Default: the one in the Kptfile
    #[arg(long, value_name = "STRATEGY", add = ArgValueCandidates::new(complete::strategies))]
    strategy: Option<String>,
    /// Print the changes as a diff, and write nothing
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// Only check whether the upstream has something newer, and exit with code 3 if it has: another commit or digest of the
    /// version in the Kptfile, or a tag with a higher version if that version is a tag. A given VERSION is compared with the lock
    #[arg(long)]
    check: bool,
    /// Overwrite files with uncommitted changes
    #[arg(long)]
    force: bool,
    /// Print git's output
    #[arg(long)]
    verbose: bool,
}

pub(super) fn cmd_update(ui: &Ui, args: &UpdateArgs) -> Result<ExitCode> {
    let named = only_argument(&args.packages, ".")?;
    let Some((named, version)) = named_version(ui, named) else {
        return Err(errors::usage(ui, "at most 1 version permitted"));
    };
    let directory = PackageDirectory::resolve(ui, named)?;
    let here = std::env::current_dir()?;
    if !directory.path.starts_with(&here) && ui.compat() != Compat::Kiln {
        return Err(errors::typed(
            ui,
            "package path must be under current working directory",
        ));
    }
    let strategy = match (&args.strategy, rules(ui)) {
        // kpt's default replaces the strategy of the Kptfile every time.
        (None, PkgRules::Kpt) => Some(Strategy::default().to_string()),
        (Some(strategy), PkgRules::Kiln) => {
            let strategy: Strategy = strategy.parse().map_err(CommandError::usage)?;
            Some(strategy.to_string())
        }
        (strategy, _) => strategy.clone().filter(|strategy| !strategy.is_empty()),
    };
    let before = directory.read()?;
    check_kptfile(ui, &directory, &before)?;
    let request = UpdateRequest {
        version: version.map(str::to_owned),
        strategy,
        name: directory.name.clone(),
        shown: directory.shown.clone(),
    };
    let talk = GitTalk::new(ui, args.verbose);
    if args.check {
        return check(ui, talk, &before, &request, named);
    }
    let (updated, done) = with_sources(ui, talk, |sources| {
        Ok(update(sources, before.clone(), &request))
    })?;
    if let Err(error) = done {
        if ui.compat() == Compat::Kpt {
            directory.write(ui, &before, &updated.contents)?;
        }
        return Err(update_error(ui, &error));
    }
    let planned = changes(&before, &updated.contents);
    let changed = changed_files(&before, &updated.contents, &planned);
    if args.dry_run {
        print_conflicts(ui, &updated.conflicts, Made::No);
        print_diff(ui, contents_diff(&before, &updated.contents))?;
        report_names(ui, &changed, Made::No);
        ui.print_message("Dry run: nothing was written.");
        return Ok(ExitCode::SUCCESS);
    }
    if ui.compat() == Compat::Kiln && !args.force {
        refuse_uncommitted(&directory, &before, &planned)?;
    }
    directory.write(ui, &before, &updated.contents)?;
    print_conflicts(ui, &updated.conflicts, Made::Yes);
    report_names(ui, &changed, Made::Yes);
    Ok(ExitCode::SUCCESS)
}

/// Refuses a directory without a usable Kptfile before anything is fetched.
fn check_kptfile(ui: &Ui, directory: &PackageDirectory, contents: &Contents) -> Result<()> {
    let problem = match contents.bytes(FILE_NAME).map(Kptfile::read) {
        None => KptfileProblem::Missing(String::new()),
        Some(Err(problem)) => problem,
        Some(Ok(_)) => return Ok(()),
    };
    let path = directory.shown.clone();
    Err(errors::kptfile(ui, &KptfileError { path, problem }))
}

/// Reports whether there is something newer. `named` is the package as the user named it.
fn check(
    ui: &Ui,
    talk: GitTalk,
    contents: &Contents,
    request: &UpdateRequest,
    named: &str,
) -> Result<ExitCode> {
    let newer = with_sources(ui, talk, |sources| {
        newer_versions(sources, contents, request).map_err(|error| update_error(ui, &error))
    })?;
    if newer.is_empty() {
        ui.print_message(&format!("{} is up to date", request.name));
        return Ok(ExitCode::SUCCESS);
    }
    for (directory, newer) in &newer {
        let [name, named] = [request.name.as_str(), named].map(|outer| join(&[outer, directory]));
        print_newer(ui, &name, &named, newer);
    }
    Ok(ExitCode::from(DIFFERENCES))
}

fn print_newer(ui: &Ui, name: &str, named: &str, newer: &NewerVersion) {
    let (version, found) = (&newer.version, &newer.found);
    if *found != newer.locked {
        let locked = match newer.locked.as_str() {
            "" => "no version",
            locked => locked,
        };
        ui.print_message(&format!(
            "{name}: {version} is at {found}, the package at {locked}"
        ));
    }
    if let Some(highest) = newer.higher.last() {
        let versions = newer.higher.join(", ");
        let package = shell_word(&format!("{named}@{highest}"));
        ui.print_message(&format!(
            "{name}: newer than {version}: {versions}; update with `kiln pkg update {package}`"
        ));
    }
}

fn update_error(ui: &Ui, error: &UpdateError) -> Error {
    match error {
        UpdateError::Fetch(error) => errors::fetch(ui, error),
        UpdateError::Kptfile(error) => errors::kptfile(ui, error),
        UpdateError::NoUpstream if ui.compat() == Compat::Kiln => {
            let hint = "only packages that were fetched with `kiln pkg get` can be updated";
            CommandError::with_hint(errors::typed(ui, error), hint).into()
        }
        error => errors::typed(ui, error),
    }
}

fn print_conflicts(ui: &Ui, conflicts: &[Conflict], made: Made) {
    if ui.compat() != Compat::Kiln {
        return;
    }
    for conflict in conflicts {
        ui.warn(&format!("conflict in {conflict}"));
    }
    let (count, them) = match conflicts.len() {
        0 => return,
        1 => ("1 conflict".to_owned(), "it"),
        count => (format!("{count} conflicts"), "them"),
    };
    ui.print_message(&match made {
        Made::Yes => format!("{count}; review {them} with `git diff`"),
        Made::No => count,
    });
}
