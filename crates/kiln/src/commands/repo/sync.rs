//! `kiln repo sync`

use anyhow::{Result, bail};
use clap::Args;

use super::registry::Registry;
use crate::cli::go_bool;
use crate::ui::Ui;

/// Bring the copies of repositories up to date
#[derive(Args, Debug)]
pub(super) struct SyncArgs {
    /// The repositories
    #[arg(value_name = "REPOSITORY_NAME")]
    names: Vec<String>,
    /// All repositories
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all: Option<bool>,
    /// Only those of this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Those of all namespaces, which is what happens anyway
    #[arg(short = 'A', long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all_namespaces: Option<bool>,
}

pub(super) fn cmd_sync(ui: &Ui, args: &SyncArgs) -> Result<()> {
    let is_all = args.all.unwrap_or(false);
    if args.names.is_empty() && !is_all {
        bail!("repository name(s) required unless --all is set");
    }
    let mut registry = Registry::read()?;
    if let Some(namespace) = &args.namespace {
        registry
            .repositories
            .retain(|entry| entry.namespace == *namespace);
    }
    if let Some(unknown) = args.names.iter().find(|name| registry.find(name).is_none()) {
        bail!("cannot find repository {unknown:?}");
    }
    let mut failed = Vec::new();
    for entry in &registry.repositories {
        if !is_all && !args.names.contains(&entry.name) {
            continue;
        }
        match entry.sync() {
            Ok(snapshot) => {
                let count = snapshot.revisions.len();
                let text = format!("{} synced: {count} package revision(s)\n", entry.name);
                ui.write_data(text.as_bytes())?;
            }
            Err(error) => failed.push(format!("repository {}: {error:#}", entry.name)),
        }
    }
    // One that cannot be reached does not keep us from the others.
    match &failed[..] {
        [] => Ok(()),
        [only] => bail!("{only}"),
        several => bail!("errors:\n  {}", several.join("\n  ")),
    }
}
