//! Runs modules on every engine of this build and compares the outcomes: the interpreter is the oracle of the compiler.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kiln_krm::Dialect;
use kiln_runtime::{
    CancelToken, Deadline, FunctionSpec, Input, Limits, Output, RunContext, RunError, Target,
};
use kiln_runtime::{Evaluator as _, Outcome};
use kiln_wasm::{WasmEngine, WasmEvaluator, WasmOptions};

/// The engines of this build, the oracle first.
pub(crate) fn engines() -> Vec<WasmEngine> {
    match cfg!(feature = "wasm-jit") {
        true => vec![WasmEngine::Interpreter, WasmEngine::Compiler],
        false => vec![WasmEngine::Interpreter],
    }
}

pub(crate) fn evaluator(engine: WasmEngine) -> WasmEvaluator {
    WasmEvaluator::new(WasmOptions {
        engine,
        ..WasmOptions::default()
    })
}

/// A module in a directory of its own.
pub(crate) struct ModuleFile {
    _directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl ModuleFile {
    pub(crate) fn new(bytes: &[u8]) -> ModuleFile {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fn.wasm");
        std::fs::write(&path, bytes).unwrap();
        ModuleFile {
            _directory: directory,
            path,
        }
    }

    /// A module in the text format.
    pub(crate) fn of_text(text: &str) -> ModuleFile {
        ModuleFile::new(&wat::parse_str(text).unwrap())
    }
}

/// A call of a module.
pub(crate) struct Call<'a> {
    pub(crate) input: &'a str,
    pub(crate) limits: Limits,
    pub(crate) timeout: Duration,
    pub(crate) cancel: CancelToken,
}

impl<'a> Call<'a> {
    pub(crate) fn new(input: &'a str) -> Call<'a> {
        Call {
            input,
            limits: Limits::default(),
            timeout: Duration::from_secs(600),
            cancel: CancelToken::new(),
        }
    }

    pub(crate) fn run(&self, evaluator: &WasmEvaluator, path: &Path) -> Result<Outcome, RunError> {
        let target = Target::Program(path.display().to_string());
        let found = evaluator.find(&FunctionSpec::new(target));
        let runner = found
            .unwrap_or_else(|error| panic!("{error}"))
            .into_runner();
        let ctx = RunContext {
            deadline: Deadline::after(self.timeout),
            limits: self.limits,
            cancel: self.cancel.clone(),
            ..RunContext::default()
        };
        runner.run(&Input::from_wire(Dialect::Current, self.input), &ctx)
    }

    /// What every engine answers; they must agree.
    #[track_caller]
    pub(crate) fn on_all_engines(&self, module: &ModuleFile) -> String {
        let mut answers = engines().into_iter().map(|engine| {
            let ran = self.run(&evaluator(engine), &module.path);
            (engine, describe(ran))
        });
        let (_, oracle) = answers.next().unwrap();
        for (engine, answer) in answers {
            assert_eq!(answer, oracle, "{engine:?} differs from the interpreter");
        }
        oracle
    }
}

/// Exit code, output and stderr of a run, or its error.
pub(crate) fn describe(ran: Result<Outcome, RunError>) -> String {
    match ran {
        Ok(outcome) => {
            let stderr = outcome.stderr_text().into_owned();
            let Output::Wire(output) = outcome.output else {
                panic!("a module returned a tree");
            };
            let output = String::from_utf8_lossy(&output).into_owned();
            format!("{}|{output}|{stderr}", outcome.exit_code)
        }
        Err(error) => format!("error: {}", error_text(&error)),
    }
}

/// An error with its causes.
pub(crate) fn error_text(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_text(source)),
        None => error.to_string(),
    }
}

/// Runs a module of the text format on all engines.
#[track_caller]
pub(crate) fn check(text: &str, input: &str, expected: &str) {
    let module = ModuleFile::of_text(text);
    assert_eq!(Call::new(input).on_all_engines(&module), expected);
}

/// Prints that a test was skipped.
#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}
