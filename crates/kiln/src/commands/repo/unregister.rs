//! `kiln repo unregister`

use anyhow::{Result, bail};
use clap::Args;

use crate::flag_values::go_bool;
use crate::rpkg::repositories_file::RepositoriesFile;
use crate::ui::Ui;

/// Remove a registration; the repository itself does not change
#[derive(Args, Debug)]
pub(super) struct UnregisterArgs {
    /// Name of the repository
    #[arg(value_name = "REPOSITORY")]
    name: Option<String>,
    /// Remove it only if it is registered for this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Ignored: kiln stores no secrets
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    keep_auth_secret: Option<bool>,
}

pub(super) fn cmd_unregister(_: &Ui, args: &UnregisterArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail!("REPOSITORY is a required positional argument");
    };
    RepositoriesFile::change(|file| {
        let found = file.find(name).filter(|entry| {
            let selected = args.namespace.as_ref();
            selected.is_none_or(|namespace| entry.namespace == *namespace)
        });
        if found.is_none() {
            bail!("cannot find repository {name:?}");
        }
        file.repositories.retain(|entry| entry.name != *name);
        Ok(())
    })
}
