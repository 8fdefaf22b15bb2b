//! The kiln command line.

#[cfg(test)]
mod catalog;
mod cli;
mod commands;
mod compat;
mod environment;
mod error;
mod flag_values;
mod functions;
mod interrupt;
mod log_format;
mod package;
#[cfg(test)]
mod reference;
mod report;
mod rpkg;
mod ui;
mod usage;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Command, LegacyCommand, Parsed};
use crate::commands::{completion, fn_, function, repo, serve};
use crate::compat::Compat;
use crate::error::CommandError;
use crate::log_format::LogFormat;
use crate::ui::Ui;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let [program, rest @ ..] = args.as_slice()
        && let Some(code) = function_runner::run_as_worker(program, rest.iter().cloned())
    {
        return code;
    }
    let environment = std::env::var_os(environment::KILN_COMPAT);
    let format = LogFormat::choose(&args);
    let compat = match Compat::choose(&args, environment) {
        Ok(compat) => compat,
        Err(error) => {
            return end(&Ui::new(Compat::Kiln, format), Err(error));
        }
    };
    let ui = Ui::new(compat, format);
    if let Some(name) = function::called_as(&args) {
        let rest = args.get(1..).unwrap_or_default();
        return end(&ui, function::cmd_as_function(&ui, &name, rest));
    }
    let parsed = match cli::parse(&args, compat) {
        Ok(parsed) => parsed,
        Err(error) => return refuse_command_line(&ui, format, &error, &args),
    };
    end(&ui, run(&ui, parsed))
}

/// Prints the error of a command and returns its exit code.
fn end(ui: &Ui, done: Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(error) => {
            let error = CommandError::from(error);
            ui.print_error(&error);
            error.exit_code()
        }
    }
}

fn run(ui: &Ui, parsed: Parsed) -> Result<ExitCode> {
    let done = match parsed {
        Parsed::Current(Command::Function(args)) => return function::cmd_function(ui, &args),
        Parsed::Current(Command::Serve(args)) => return serve::cmd_serve(ui, args),
        Parsed::Current(Command::Fn(args)) => fn_::cmd_fn(ui, &args),
        Parsed::Current(Command::Rpkg(args)) => commands::rpkg::cmd_rpkg(ui, &args),
        Parsed::Current(Command::Repo(args)) => repo::cmd_repo(ui, &args),
        Parsed::Legacy(LegacyCommand::Fn(args)) => fn_::cmd_legacy_fn(ui, &args),
        Parsed::Current(Command::Completion(args))
        | Parsed::Legacy(LegacyCommand::Completion(args)) => completion::cmd_completion(ui, &args),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Prints help if the user asked for it, and otherwise what is wrong with the command line.
fn refuse_command_line(
    ui: &Ui,
    format: LogFormat,
    error: &clap::Error,
    args: &[OsString],
) -> ExitCode {
    let message = match ui.compat() {
        Compat::Kiln => None,
        Compat::Kpt | Compat::KptV039 => usage::in_kpt_words(error, args),
    };
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    match (message, format) {
        (Some(message), _) => ui.print_error(&CommandError::new(format!("error: {message}"))),
        (None, LogFormat::Json) => {
            ui.print_error(&CommandError::new(error.render().to_string()));
        }
        // In colours.
        (None, LogFormat::Text) => {
            let _ = error.print();
        }
    }
    ExitCode::FAILURE
}
