//! `kiln repo unregister`

use anyhow::{Result, bail};
use clap::Args;

use super::registry::Registry;
use crate::ui::Ui;

/// Forget a repository; nothing in it changes
#[derive(Args, Debug)]
pub(super) struct UnregisterArgs {
    /// Its name
    #[arg(value_name = "REPOSITORY")]
    name: Option<String>,
}

pub(super) fn cmd_unregister(_: &Ui, args: &UnregisterArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail!("REPOSITORY is a required positional argument");
    };
    let mut registry = Registry::read()?;
    if registry.find(name).is_none() {
        bail!("cannot find repository {name:?}");
    }
    registry.repositories.retain(|entry| entry.name != *name);
    registry.write()
}
