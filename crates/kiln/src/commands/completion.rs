//! `kiln completion`

use anyhow::Result;
use clap::{Args, ValueEnum};
use clap_complete::env::{Bash, EnvCompleter, Fish, Powershell, Zsh};

use crate::compat::Compat;
use crate::environment::KILN_COMPLETE;
use crate::ui::Ui;

/// Without this, bash splits `set-labels:v0.2.0` into three words.
const BASH_COLONS: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n";

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 source <(kiln completion bash)\n\
    \x20 kiln completion zsh > ~/.zfunc/_kiln\n\
    \x20 kiln completion fish > ~/.config/fish/completions/kiln.fish")]
pub(crate) struct CompletionArgs {
    /// Shell to print the script for
    #[arg(value_enum)]
    shell: CompletedShell,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
}

/// Prints a script that calls kiln itself for completions, so that names of functions, revisions and repositories are completed
/// too.
pub(crate) fn cmd_completion(ui: &Ui, args: &CompletionArgs) -> Result<()> {
    let program = match ui.compat() {
        Compat::Kiln => "kiln",
        Compat::Kpt | Compat::KptV039 => "kpt",
    };
    let (completer, before): (&dyn EnvCompleter, &str) = match args.shell {
        CompletedShell::Bash => (&Bash, BASH_COLONS),
        CompletedShell::Zsh => (&Zsh, ""),
        CompletedShell::Fish => (&Fish, ""),
        CompletedShell::PowerShell => (&Powershell, ""),
    };
    let mut script = before.as_bytes().to_vec();
    completer.write_registration(KILN_COMPLETE, program, program, program, &mut script)?;
    ui.write_data(&script)
}
