//! `kiln repo sync`

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_task::Repository;

use super::registry::Registry;
use crate::commands::rpkg::place::git_options;
use crate::ui::Ui;

/// Bring the copies of repositories up to date
#[derive(Args, Debug)]
pub(super) struct SyncArgs {
    /// The repositories
    #[arg(value_name = "REPOSITORY_NAME")]
    names: Vec<String>,
    /// All repositories
    #[arg(long)]
    all: bool,
}

pub(super) fn cmd_sync(ui: &Ui, args: &SyncArgs) -> Result<()> {
    if args.names.is_empty() && !args.all {
        bail!("repository name(s) required unless --all is set");
    }
    let registry = Registry::read()?;
    if let Some(unknown) = args.names.iter().find(|name| registry.find(name).is_none()) {
        bail!("cannot find repository {unknown:?}");
    }
    for entry in &registry.repositories {
        if !args.all && !args.names.contains(&entry.name) {
            continue;
        }
        let sync = || -> Result<usize> {
            let repository = Repository::open(entry.config()?, &git_options())?;
            Ok(repository.snapshot()?.revisions.len())
        };
        let count = sync().with_context(|| format!("repository {}", entry.name))?;
        let text = format!("{} synced: {count} package revision(s)\n", entry.name);
        ui.write_data(text.as_bytes())?;
    }
    Ok(())
}
