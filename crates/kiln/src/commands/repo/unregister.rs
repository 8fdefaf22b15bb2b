//! `kiln repo unregister`

use anyhow::{Result, bail};
use clap::Args;

use super::registry::Registry;
use crate::cli::go_bool;
use crate::ui::Ui;

/// Forget a repository; nothing in it changes
#[derive(Args, Debug)]
pub(super) struct UnregisterArgs {
    /// Its name
    #[arg(value_name = "REPOSITORY")]
    name: Option<String>,
    /// Only if it was registered for this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Without effect: no secrets are kept
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    keep_auth_secret: Option<bool>,
}

pub(super) fn cmd_unregister(_: &Ui, args: &UnregisterArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail!("REPOSITORY is a required positional argument");
    };
    Registry::change(|registry| {
        let found = registry.find(name).filter(|entry| {
            let wanted = args.namespace.as_ref();
            wanted.is_none_or(|namespace| entry.namespace == *namespace)
        });
        if found.is_none() {
            bail!("cannot find repository {name:?}");
        }
        registry.repositories.retain(|entry| entry.name != *name);
        Ok(())
    })
}
