//! `kiln repo sync`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::complete;
use crate::error::{CommandError, bail_usage};
use crate::flag_values::go_bool;
use crate::rpkg::repositories_file::RepositoriesFile;
use crate::ui::Ui;

/// Update the local copies of repositories
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln repo sync --all")]
pub(super) struct SyncArgs {
    /// Repositories to update
    #[arg(value_name = "REPOSITORY_NAME", add = ArgValueCompleter::new(complete::repositories))]
    names: Vec<String>,
    /// Update all repositories
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all: Option<bool>,
    /// Update only repositories of this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Ignored: repositories of all namespaces are updated by default
    #[arg(short = 'A', long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all_namespaces: Option<bool>,
}

pub(super) fn cmd_sync(ui: &Ui, args: &SyncArgs) -> Result<()> {
    let is_all = args.all.unwrap_or(false);
    if args.names.is_empty() && !is_all {
        bail_usage!("repository name(s) required unless --all is set");
    }
    let mut file = RepositoriesFile::read()?;
    if let Some(namespace) = &args.namespace {
        file.repositories
            .retain(|entry| entry.namespace == *namespace);
    }
    if let Some(unknown) = args.names.iter().find(|name| file.find(name).is_none()) {
        return Err(file.unknown(unknown));
    }
    let mut failed = Vec::new();
    for entry in &file.repositories {
        if !is_all && !args.names.contains(&entry.name) {
            continue;
        }
        match entry.sync(ui) {
            Ok(snapshot) => {
                let count = snapshot.revisions.len();
                let text = format!("{} synced: {count} package revision(s)\n", entry.name);
                ui.write_data(text.as_bytes())?;
            }
            // A repository that cannot be reached does not stop the others.
            Err(error) => failed.push(error.context(format!("repository {}", entry.name))),
        }
    }
    if failed.len() < 2 {
        return failed.pop().map_or(Ok(()), Err);
    }
    let failed: Vec<CommandError> = failed.into_iter().map(CommandError::from).collect();
    let texts: Vec<&str> = failed.iter().map(CommandError::plain_message).collect();
    let message = format!("error: errors:\n  {}", texts.join("\n  "));
    Err(CommandError {
        hint: failed.into_iter().find_map(|error| error.hint),
        ..CommandError::new(message)
    }
    .into())
}
