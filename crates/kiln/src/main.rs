//! The kiln command line.
//!
//! [`Compat`] is chosen first; `cli` is what clap parses, one grammar for each generation of kpt. `commands` has a file for each
//! verb, all other modules are what verbs share. `error` turns library errors into a [`CommandError`]: message, position, hint,
//! class. Called through a link, the program is kpt, a built-in function, or a container engine (`engine_link`).

#[cfg(test)]
mod catalog;
mod cli;
mod color;
mod commands;
mod compat;
mod complete;
mod deferred;
mod engine_link;
mod environment;
mod error;
mod flag_values;
mod functions;
mod help;
mod image_store;
mod interrupt;
mod kpt_flags;
mod log_format;
mod manifests;
mod package;
mod pass_through;
mod real_program;
#[cfg(test)]
mod reference;
mod report;
mod rpkg;
mod staging;
mod ui;
mod unchanged;
mod usage;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::ErrorKind;
use clap_complete::CompleteEnv;

use crate::cli::{Command, LegacyCommand, Parsed};
use crate::color::ColorWhen;
use crate::commands::{
    argocd, cache, completion, doctor, fn_, function, helm, image, live, lock, manual, migrate,
    pkg, policy, push, repo, serve, version,
};
use crate::compat::Compat;
use crate::error::CommandError;
use crate::log_format::LogFormat;
use crate::ui::Ui;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let args = helm::called_by_link(&args).unwrap_or(args);
    if let [program, rest @ ..] = args.as_slice()
        && let Some(code) = function_runner::run_as_worker(program, rest.iter().cloned())
    {
        return code;
    }
    if let Some(engine) = engine_link::called_as(&args) {
        return engine_link::cmd_engine(engine, args.get(1..).unwrap_or_default());
    }
    let environment = std::env::var_os(environment::KILN_COMPAT);
    let (format, color) = (LogFormat::choose(&args), ColorWhen::choose(&args));
    let compat = match Compat::choose(&args, environment) {
        Ok(compat) => compat,
        Err(error) => {
            return end(&Ui::new(Compat::Kiln, format, color), Err(error));
        }
    };
    let ui = Ui::new(compat, format, color);
    match complete(&args, compat) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return end(&ui, Err(error.into())),
    }
    if let Some(name) = function::called_as(&args) {
        let rest = args.get(1..).unwrap_or_default();
        return end(&ui, function::cmd_as_function(&ui, &name, rest));
    }
    if let Some(command) = pass_through::foreign_command(&args, compat) {
        return end(&ui, pass_through::run_kpt(&command, &args));
    }
    let parsed = match cli::parse(&args, compat, color) {
        Ok(parsed) => parsed,
        Err(mut error) => {
            usage::suggest_verb(&mut error, &args);
            return refuse_command_line(&ui, format, &error, &args);
        }
    };
    end(&ui, run(&ui, parsed))
}

/// Prints completions if a shell asks for them. Returns whether one did.
fn complete(args: &[OsString], compat: Compat) -> Result<bool, clap::Error> {
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| cli::documented_grammar(compat))
        .var(environment::KILN_COMPLETE)
        .try_complete(args.iter().cloned(), here.as_deref())
}

/// Prints the error of a command and returns its exit code.
fn end(ui: &Ui, done: Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(error) => {
            let error = CommandError::from(error);
            ui.print_error(&error);
            error.exit_code(ui.compat())
        }
    }
}

fn run(ui: &Ui, parsed: Parsed) -> Result<ExitCode> {
    let done = match parsed {
        Parsed::Current(Command::Function(args)) => return function::cmd_function(ui, &args),
        Parsed::Current(Command::Serve(args)) => return serve::cmd_serve(ui, args),
        Parsed::Current(Command::Pkg(args)) => return pkg::cmd_pkg(ui, &args),
        Parsed::Current(Command::Fn(args)) => fn_::cmd_fn(ui, &args),
        Parsed::Current(Command::Live(args)) => live::cmd_live(ui, &args),
        Parsed::Current(Command::Version(args)) | Parsed::Legacy(LegacyCommand::Version(args)) => {
            version::cmd_version(ui, &args)
        }
        Parsed::Current(Command::Rpkg(args)) => commands::rpkg::cmd_rpkg(ui, &args),
        Parsed::Current(Command::Repo(args)) => repo::cmd_repo(ui, &args),
        Parsed::Current(Command::Image(args)) => image::cmd_image(ui, &args),
        Parsed::Current(Command::Doctor(args)) => doctor::cmd_doctor(ui, &args),
        Parsed::Current(Command::Lock(args)) => lock::cmd_lock(ui, &args),
        Parsed::Current(Command::Policy(args)) => policy::cmd_policy(ui, &args),
        Parsed::Current(Command::Push(args)) => push::cmd_push(ui, &args),
        Parsed::Current(Command::Migrate(args)) => migrate::cmd_migrate(ui, &args),
        Parsed::Current(Command::Argocd(args)) => argocd::cmd_argocd(ui, &args),
        Parsed::Current(Command::Helm(args)) => helm::cmd_helm(ui, &args),
        Parsed::Current(Command::Wasm(args)) => commands::wasm::cmd_wasm(ui, &args),
        Parsed::Current(Command::Alpha(args)) => commands::wasm::cmd_alpha(ui, &args),
        Parsed::Legacy(LegacyCommand::Fn(args)) => fn_::cmd_legacy_fn(ui, &args),
        Parsed::Current(Command::Cache(args)) => cache::cmd_cache(ui, &args),
        Parsed::Current(Command::Manual(args)) => manual::cmd_manual(ui, &args),
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
        (None, LogFormat::Text | LogFormat::Github) => {
            let _ = error.print();
        }
    }
    match (ui.compat(), error.kind()) {
        (Compat::Kiln, _) => ExitCode::from(error::USAGE),
        // A group of commands without a command, for which kpt prints help.
        (Compat::Kpt, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) => ExitCode::SUCCESS,
        (Compat::Kpt | Compat::KptV039, _) => ExitCode::FAILURE,
    }
}
