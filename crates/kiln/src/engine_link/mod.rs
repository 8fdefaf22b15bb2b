//! Called as docker, podman or nerdctl, kiln runs the functions of tools that know only a container engine.
//!
//! kustomize and kpt have a few command lines written into them; `command_line` recognises exactly those. Everything else
//! is passed on to the real engine, with the same words, or refused with the word that kiln does not know.
//!
//! Invariant: nothing but the output of a function, or an answer that was asked for, is written to standard output.

mod answers;
mod command_line;
mod error;
mod function_files;
mod permissions;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kiln_container::Engine;
use kiln_functions::registry::Registry;

use crate::color::ColorWhen;
use crate::compat::Compat;
use crate::environment::{KILN_REAL_DOCKER, KILN_REAL_NERDCTL, KILN_REAL_PODMAN};
use crate::log_format::LogFormat;
use crate::real_program;
use crate::ui::Ui;
use command_line::{EngineCommand, LineSender, RunCommand, parse};
use error::EngineLinkError;

/// The engine whose name kiln was called by.
pub(crate) fn called_as(args: &[OsString]) -> Option<Engine> {
    let name = Path::new(args.first()?).file_name()?.to_str()?;
    let mut engines = Engine::ALL.into_iter();
    engines.find(|engine| engine.program() == name)
}

/// Does what a container engine would do with the arguments.
pub(crate) fn cmd_engine(engine: Engine, arguments: &[OsString]) -> ExitCode {
    let link = EngineLink {
        ui: Ui::new(Compat::Kiln, LogFormat::Text, ColorWhen::Never),
        engine,
        arguments,
    };
    link.answer().unwrap_or_else(|error| {
        if let Some(text) = error.text(engine) {
            link.ui.print_message(&text);
        }
        error.code
    })
}

/// A call of kiln by the name of an engine.
struct EngineLink<'a> {
    ui: Ui,
    engine: Engine,
    /// Without the name of the program.
    arguments: &'a [OsString],
}

impl EngineLink<'_> {
    fn answer(&self) -> Result<ExitCode, EngineLinkError> {
        let command = match parse(self.arguments) {
            Ok(command) => command,
            Err(unknown) => {
                return match self.real_engine() {
                    Some(program) => self.pass_on(&program),
                    None => Err(EngineLinkError::unknown_word(self.engine, &unknown.0)),
                };
            }
        };
        if !is_for_kiln(&command)
            && let Some(program) = self.real_engine()
        {
            return self.pass_on(&program);
        }
        match &command {
            EngineCommand::Run(command) if command.is_help => self.help(command),
            EngineCommand::Run(command) => match &command.files {
                Some(files) => self.run_on_files(command, files),
                None => self.run(command),
            },
            EngineCommand::ClientVersion => self.client_version(),
            EngineCommand::About | EngineCommand::Help => self.about(),
            EngineCommand::Tags { image } => self.tags(image),
            EngineCommand::Version => self.version(),
            EngineCommand::Info => self.info(),
            EngineCommand::Processes => Ok(ExitCode::SUCCESS),
            EngineCommand::Pull { image } => self.pull(image),
            EngineCommand::Inspect { image } => self.inspect(image),
        }
    }

    /// The engine that runs what kiln does not.
    fn real_engine(&self) -> Option<PathBuf> {
        let variable = real_engine_variable(self.engine);
        real_program::find(self.engine.program(), variable)
    }

    /// Replaces this process by the real engine with the same words.
    fn pass_on(&self, program: &Path) -> Result<ExitCode, EngineLinkError> {
        let source = real_program::replace_process(program, self.arguments);
        Err(EngineLinkError::new(format!(
            "cannot run {}: {source}",
            program.display()
        )))
    }
}

/// Whether kiln answers even if there is a real engine: what only function tools send, and what identifies kiln.
fn is_for_kiln(command: &EngineCommand) -> bool {
    match command {
        EngineCommand::Run(command) => match command.sender {
            LineSender::FunctionTool => true,
            LineSender::Unknown => {
                command.files.is_some() || command.is_help && is_built_in(command)
            }
        },
        EngineCommand::ClientVersion | EngineCommand::About | EngineCommand::Tags { .. } => true,
        EngineCommand::Help
        | EngineCommand::Version
        | EngineCommand::Info
        | EngineCommand::Processes
        | EngineCommand::Pull { .. }
        | EngineCommand::Inspect { .. } => false,
    }
}

fn is_built_in(command: &RunCommand) -> bool {
    Registry::builtin().find_image(&command.image).is_some()
}

/// The variable with the path of the real engine.
fn real_engine_variable(engine: Engine) -> &'static str {
    match engine {
        Engine::Docker => KILN_REAL_DOCKER,
        Engine::Podman => KILN_REAL_PODMAN,
        Engine::Nerdctl => KILN_REAL_NERDCTL,
    }
}
