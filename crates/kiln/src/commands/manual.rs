//! `kiln manual`: writes man pages, for packages of distributions.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap_mangen::Man;

use crate::cli;
use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct ManualArgs {
    /// Directory for the man pages; it is created if it does not exist
    dir: PathBuf,
}

pub(crate) fn cmd_manual(ui: &Ui, args: &ManualArgs) -> Result<()> {
    let directory = &args.dir;
    let cannot_write = || format!("cannot write man pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot_write)?;
    let mut pending = vec![cli::documented_grammar(ui.compat())];
    let mut count = 0;
    while let Some(command) = pending.pop() {
        let below = command.get_subcommands().filter(|below| {
            let is_help = below.get_name() == "help";
            !is_help && !below.is_hide_set()
        });
        pending.extend(below.cloned());
        // `kiln fn render` is in kiln-fn-render.1, as git does it.
        let name = command
            .get_display_name()
            .unwrap_or(command.get_name())
            .to_owned();
        let mut page = Vec::new();
        Man::new(command)
            .title(name.to_uppercase())
            .render(&mut page)?;
        fs::write(directory.join(format!("{name}.1")), page).with_context(cannot_write)?;
        count += 1;
    }
    ui.print_message(&format!(
        "{count} man pages written to {}",
        directory.display()
    ));
    Ok(())
}
