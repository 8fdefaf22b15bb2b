//! `kiln function doc`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_functions::registry::FunctionInfo;

use super::documented;
use crate::complete;
use crate::ui::Ui;

/// Print the documentation of a function
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln function doc set-labels")]
pub(super) struct DocArgs {
    /// Name of the function, or NAME:VERSION
    #[arg(add = ArgValueCompleter::new(complete::functions))]
    name: String,
}

pub(super) fn cmd_doc(ui: &Ui, args: &DocArgs) -> Result<()> {
    print(ui, documented(&args.name)?)
}

pub(super) fn print(ui: &Ui, info: &FunctionInfo) -> Result<()> {
    let versions: Vec<&str> = info.version_tags().collect();
    let versions = match versions.is_empty() {
        true => String::new(),
        false => format!("\nVersions: {}\n", versions.join(" ")),
    };
    let text = format!("{}: {}\n\n{}{versions}", info.name, info.summary, info.doc);
    ui.write_data(text.as_bytes())
}
