//! The kiln command line.

mod cli;
mod commands;
mod compat;
mod environment;
mod interrupt;
mod package;
#[cfg(test)]
mod reference;
mod ui;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Command, LegacyCommand, Parsed};
use crate::commands::{completion, function};
use crate::compat::Compat;
use crate::ui::{Failed, Ui};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let environment = std::env::var_os(environment::KILN_COMPAT);
    let compat = match Compat::choose(&args, environment) {
        Ok(compat) => compat,
        Err(error) => {
            Ui::new(Compat::Kiln).say(&format!("error: {error:#}"));
            return ExitCode::FAILURE;
        }
    };
    let ui = Ui::new(compat);
    let parsed = match cli::parse(&args, compat) {
        Ok(parsed) => parsed,
        Err(error) => return refuse_command_line(&ui, &error, &args),
    };
    match run(&ui, parsed) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has enough of it: `kiln fn source | head`.
        Err(error) if ui::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<Failed>() {
                Some(Failed(Some(message))) => ui.say(message),
                Some(Failed(None)) => {}
                None => ui.say(&format!("error: {error:#}")),
            }
            ExitCode::FAILURE
        }
    }
}

fn run(ui: &Ui, parsed: Parsed) -> Result<()> {
    match parsed {
        Parsed::Current(Command::Fn(args)) => function::cmd_fn(ui, &args),
        Parsed::Legacy(LegacyCommand::Fn(args)) => function::cmd_legacy_fn(ui, &args),
        Parsed::Current(Command::Completion(args))
        | Parsed::Legacy(LegacyCommand::Completion(args)) => completion::cmd_completion(ui, &args),
    }
}

/// Prints help where it was asked for, and what is wrong with the command line otherwise.
fn refuse_command_line(ui: &Ui, error: &clap::Error, args: &[OsString]) -> ExitCode {
    let message = match ui.compat() {
        Compat::Kiln => None,
        Compat::Kpt | Compat::KptV039 => usage::in_kpt_words(error, args),
    };
    match message {
        Some(message) => ui.say(&format!("error: {message}")),
        None => {
            let _ = error.print();
        }
    }
    match error.use_stderr() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
