//! `run`: an image as a function, by kiln's own evaluators.

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kiln_evaluators::{ChainOptions, NativeForm, NativeOptions, PolicyGuard, WasmPrograms};
use kiln_functions::registry::Registry;
use kiln_krm::{Dialect, Wrapper, write_list};
use kiln_policy::RunWay;
use kiln_runtime::process::{self, FinishedProcess, Program, StopSignal};
use kiln_runtime::{
    Evaluator, EvaluatorChain, FindError, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError, StderrListener,
};

use super::EngineLink;
use super::command_line::RunCommand;
use super::error::EngineLinkError;
use super::permissions::Permissions;
use crate::commands::function;
use crate::compat::Compat;
use crate::environment::KILN_IMAGE_RUNTIME;
use crate::functions::image_runtime::{ImageSettings, image_evaluator_without_engine};
use crate::functions::mounted_files::MountedFiles;
use crate::functions::policy::{self, PolicyFlags};
use crate::functions::wasm::{WasmContext, WasmFlags};
use crate::interrupt::on_interrupt;

impl EngineLink<'_> {
    /// Runs a function: standard input and output are its own.
    pub(super) fn run(&self, command: &RunCommand) -> Result<ExitCode, EngineLinkError> {
        let input = String::from_utf8(self.ui.read_data()?)
            .map_err(|_| EngineLinkError::new("the input of the function is not UTF-8"))?;
        let outcome = self.run_on(command, &input)?;
        self.ui.write_data(&output_bytes(&outcome))?;
        Ok(exit_code(outcome.exit_code, outcome.signal))
    }

    /// Runs a function on an input, and prints its standard error.
    pub(super) fn run_on(
        &self,
        command: &RunCommand,
        input: &str,
    ) -> Result<Outcome, EngineLinkError> {
        let policy = PolicyFlags::default().guard(&self.ui, command.pull_policy)?;
        let chain = chain(&settings(command)?, policy.clone())?;
        let function = FunctionSpec {
            network: command.network,
            env: command.env.iter().filter_map(|it| with_value(it)).collect(),
            ..FunctionSpec::image(command.image.as_str())
        };
        let streamed = Arc::new(AtomicBool::new(false));
        let ctx = self.context(&streamed);
        let ran = match chain.find(&function) {
            Ok(found) => {
                let input = Input::from_wire(Dialect::Current, input);
                found.into_runner().run(&input, &ctx)
            }
            Err(FindError::Denied(error)) => Err(RunError::Denied(error)),
            Err(error) => Err(RunError::NotFound(Box::new(error))),
        };
        let outcome = match (ran, self.real_engine()) {
            (Err(RunError::NotFound(_)), Some(engine)) => {
                let allowed = policy::check(policy.as_ref(), &function, RunWay::Engine, &ctx);
                allowed.and_then(|allowed| {
                    let words = self.words_for(command, &allowed);
                    let ran = run_by_engine(&engine, &words, input, &ctx);
                    ran.map(Outcome::from)
                })
            }
            (ran, _) => ran,
        };
        let outcome = outcome.map_err(|error| EngineLinkError::not_run(&command.image, &error))?;
        if !streamed.load(Ordering::SeqCst) {
            self.print_stderr(&outcome.stderr);
        }
        Ok(outcome)
    }

    /// Prints the documentation of a function: a built-in one has its own, an image gets `--help`.
    pub(super) fn help(&self, command: &RunCommand) -> Result<ExitCode, EngineLinkError> {
        let registry = Registry::builtin();
        if registry.find_image(&command.image).is_some()
            && let Some(info) = registry.function_of_image(&command.image)
        {
            function::print_doc(&self.ui, info)?;
            return Ok(ExitCode::SUCCESS);
        }
        let policy = PolicyFlags::default().guard(&self.ui, command.pull_policy)?;
        let function = FunctionSpec::image(command.image.as_str());
        let streamed = Arc::new(AtomicBool::new(false));
        let ctx = self.context(&streamed);
        let allowed = policy::check(policy.as_ref(), &function, RunWay::Image, &ctx)
            .map_err(|error| EngineLinkError::not_run(&command.image, &error))?;
        let evaluator = image_evaluator_without_engine(&settings(command)?)?;
        let Some(evaluator) = evaluator else {
            return Err(EngineLinkError::new(format!(
                "{KILN_IMAGE_RUNTIME} selects a container engine, and there is none"
            )));
        };
        let empty_list = write_list(&Wrapper::resource_list(Dialect::Current), &[], None, None);
        let finished = evaluator
            .help(allowed.name(), &empty_list, &ctx)
            .map_err(|error| EngineLinkError::not_run(&command.image, &error))?;
        self.ui.write_data(&finished.stdout)?;
        Ok(exit_code(finished.exit_code, finished.signal))
    }

    /// Settings of a call: no limit of time, as for engines, and standard error as it comes.
    fn context(&self, streamed: &Arc<AtomicBool>) -> RunContext {
        let (ui, streamed) = (self.ui.clone(), Arc::clone(streamed));
        RunContext {
            cancel: on_interrupt(),
            on_stderr: Some(StderrListener::new(move |piece| {
                streamed.store(true, Ordering::SeqCst);
                ui.forward_stderr("", piece, &mut Vec::new());
            })),
            ..RunContext::default()
        }
    }

    /// Prints what a function in this process wrote to standard error, which has no last line break.
    fn print_stderr(&self, stderr: &[u8]) {
        if !stderr.is_empty() {
            let text = [stderr, b"\n"].concat();
            self.ui.forward_stderr("", &text, &mut Vec::new());
        }
    }

    /// The words for the real engine. The image has the digest that was verified, if the policy requires a signature.
    fn words_for(&self, command: &RunCommand, allowed: &FunctionSpec) -> Vec<String> {
        let words = self.arguments.iter().map(|word| word.to_string_lossy());
        words
            .map(|word| match word == command.image.as_str() {
                true => allowed.name().to_owned(),
                false => word.into_owned(),
            })
            .collect()
    }
}

/// Runs the words by the real engine: it may have what kiln lacks, and the input was read already.
pub(super) fn run_by_engine(
    engine: &Path,
    words: &[String],
    input: &str,
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    let program = Program {
        name: &engine.to_string_lossy(),
        arguments: words,
        search_path: std::ffi::OsStr::new(""),
        stop_signal: StopSignal::Interrupt,
        sandbox: None,
        environment: None,
    };
    process::run(program, input.as_bytes(), ctx)
}

/// The settings of an image, as far as the user allows what the line asks for.
fn settings(command: &RunCommand) -> Result<ImageSettings, EngineLinkError> {
    let permissions = Permissions::of_environment();
    permissions.check_network(command.network)?;
    Ok(ImageSettings {
        pull_policy: command.pull_policy,
        mounts: permissions.check_mounts(&command.mounts)?,
        user: command.user.clone(),
        style: kiln_container::CommandStyle::Kpt,
        variables: Vec::new(),
        pulls: Arc::new(()),
    })
}

/// Built-in functions, then modules, then images from the store.
fn chain(
    settings: &ImageSettings,
    policy: Option<Arc<PolicyGuard>>,
) -> Result<EvaluatorChain, EngineLinkError> {
    let wasm = WasmFlags::default().check(&WasmContext {
        compat: Compat::Kiln,
        programs: WasmPrograms::Nothing,
        pull_policy: settings.pull_policy,
        has_runner: false,
    })?;
    let image = image_evaluator_without_engine(settings)?;
    let options = ChainOptions {
        native: Some(NativeOptions {
            // The tool parses the output again.
            form: NativeForm::Wire,
            is_watched: true,
            files: Some(Arc::new(MountedFiles::new(&settings.mounts))),
        }),
        wasm: wasm.chain,
        image: image.map(|image| Arc::new(image) as Arc<dyn Evaluator>),
        policy,
        ..ChainOptions::default()
    };
    Ok(options.chain())
}

/// A variable with its value: one that only has a name gets ours, and none if we have none.
fn with_value(variable: &str) -> Option<String> {
    if variable.contains('=') {
        return Some(variable.to_owned());
    }
    let value = std::env::var(variable).ok()?;
    Some(format!("{variable}={value}"))
}

/// What a function printed as its result.
pub(super) fn output_bytes(outcome: &Outcome) -> Cow<'_, [u8]> {
    match &outcome.output {
        Output::Wire(text) => Cow::Borrowed(text),
        Output::List(list) => {
            let (config, results) = (list.function_config.as_ref(), list.results.as_ref());
            let wrapper = Wrapper::resource_list(Dialect::Current);
            let text = write_list(&wrapper, &list.items, config, results);
            Cow::Owned(text.into_bytes())
        }
    }
}

/// The exit code of a function; that of a killed one is 128 plus the signal, as for engines.
pub(super) fn exit_code(code: i32, signal: Option<i32>) -> ExitCode {
    let code = signal.map_or(code, |signal| 128_i32.saturating_add(signal));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
