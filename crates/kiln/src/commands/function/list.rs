//! `kiln function list`

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use kiln_functions::registry::Registry;

use crate::ui::Ui;

/// List the built-in functions
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln function list\n  kiln function list --versions")]
pub(super) struct ListArgs {
    /// List the versions of each function too
    #[arg(long)]
    versions: bool,
}

pub(super) fn cmd_list(ui: &Ui, args: &ListArgs) -> Result<()> {
    let functions: Vec<_> = Registry::builtin().functions().collect();
    let width = functions.iter().map(|info| info.name.len()).max();
    let width = width.unwrap_or_default();
    let mut out = String::new();
    for info in functions {
        let _ = writeln!(out, "{:width$}  {}", info.name, info.summary);
        if args.versions {
            let tags = info.versions.iter().flat_map(|version| version.tags);
            let tags: Vec<&str> = tags.copied().collect();
            let _ = writeln!(out, "{:width$}  {}", "", tags.join(" "));
        }
    }
    ui.write_data(out.as_bytes())
}
