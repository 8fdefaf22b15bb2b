//! `kiln repo unregister`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::complete;
use crate::error::bail_usage;
use crate::flag_values::go_bool;
use crate::rpkg::repositories_file::RepositoriesFile;
use crate::ui::Ui;

/// Remove a registration; the repository itself does not change
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln repo unregister blueprints")]
pub(super) struct UnregisterArgs {
    /// Name of the repository (required)
    #[arg(value_name = "REPOSITORY", add = ArgValueCompleter::new(complete::repositories))]
    name: Option<String>,
    /// Remove it only if it is registered for this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Ignored: kiln stores no secrets
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    keep_auth_secret: Option<bool>,
}

pub(super) fn cmd_unregister(ui: &Ui, args: &UnregisterArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail_usage!("REPOSITORY is a required positional argument");
    };
    RepositoriesFile::change(|file| {
        let found = file.find(name).filter(|entry| {
            let selected = args.namespace.as_ref();
            selected.is_none_or(|namespace| entry.namespace == *namespace)
        });
        if found.is_none() {
            return Err(file.unknown(name));
        }
        file.repositories.retain(|entry| entry.name != *name);
        Ok(())
    })?;
    ui.print_message(&format!("unregistered repository {name}; its files stay"));
    Ok(())
}
