//! `kiln completion`

use anyhow::Result;
use clap::Args;
use clap::builder::TypedValueParser;
use clap_complete::Shell;

use crate::cli;
use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct CompletionArgs {
    /// Shell to print the script for
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(["bash", "zsh", "fish", "powershell"]).map(shell))]
    shell: Shell,
}

fn shell(name: String) -> Shell {
    match name.as_str() {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        "powershell" => Shell::PowerShell,
        _ => Shell::Bash,
    }
}

pub(crate) fn cmd_completion(ui: &Ui, args: &CompletionArgs) -> Result<()> {
    let mut script = Vec::new();
    let mut grammar = cli::grammar(ui.compat());
    clap_complete::generate(args.shell, &mut grammar, "kiln", &mut script);
    ui.write_data(&script)
}
