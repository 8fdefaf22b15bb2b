//! `kiln serve`: the function runner with defaults for a local machine.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use function_runner::{Environment, Flavour, RunnerFlags, serve};

use crate::ui::Ui;

/// The flags of the function runner, parsed by it.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Flags of function-runner, such as --port=9445; --help lists them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "FLAGS"
    )]
    flags: Vec<String>,
}

pub(crate) fn cmd_serve(ui: &Ui, args: ServeArgs) -> Result<ExitCode> {
    let environment = Environment::read();
    let config = match RunnerFlags::new(Flavour::Serve).parse(args.flags, &environment) {
        Ok(config) => config,
        Err(stop) => {
            ui.print_message(stop.text().trim_end());
            return Ok(ExitCode::from(stop.exit_code()));
        }
    };
    serve(&config, &environment)?;
    Ok(ExitCode::SUCCESS)
}
