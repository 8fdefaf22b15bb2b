//! `kiln serve`: the function runner with defaults for a local machine.

mod self_signed;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use function_runner::{Environment, Flavour, RunnerFlags, serve};
use kiln_go::{Stop, UsageError};
use kiln_krm::similar_name;

use crate::cli;
use crate::error::CommandError;
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
    let flags = RunnerFlags::new(Flavour::Serve);
    let mut config = match flags.parse(args.flags, &environment) {
        Ok(config) => config,
        Err(Stop::Help(_)) => {
            ui.write_data(cli::help_of_serve(ui.compat()).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(Stop::Usage(error)) => return Err(usage_error(&flags, &error).into()),
    };
    if config.tls_self_signed {
        let created = self_signed::create(config.address)?;
        ui.print_message(&format!(
            "created a CA and a certificate for this run; clients need --runner-tls-ca={}",
            created.ca.display()
        ));
        config.tls = Some(created.files);
    }
    serve(&config, &environment)?;
    Ok(ExitCode::SUCCESS)
}

/// The message without the list of all flags, which would push it off the screen.
fn usage_error(flags: &RunnerFlags, error: &UsageError) -> CommandError {
    let list = "`kiln serve --help` lists the flags";
    let (message, similar) = match &error.unknown_flag {
        None => (error.message.clone(), None),
        Some(name) => (
            format!("unknown flag --{name}"),
            similar_name(name, flags.names().chain(["help"])),
        ),
    };
    CommandError {
        hint: Some(match similar {
            Some(name) => format!("did you mean --{name}? {list}"),
            None => list.to_owned(),
        }),
        ..CommandError::usage(message)
    }
}
