//! The function runner: a gRPC service that runs functions for Porch.

use std::io::{self, Write as _};
use std::process::ExitCode;

use function_runner::{
    BuildInfo, CalledAs, Environment, Flavour, RunnerFlags, newest_functions, run_as_worker, serve,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    if let Some(code) = run_as_worker(&program, std::env::args_os().skip(1)) {
        return code;
    }
    if let Some(function) = CalledAs::of(&program) {
        return match function.run() {
            Ok(code) => code,
            Err(error) => {
                let _ = writeln!(io::stderr(), "error: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    let environment = Environment::read();
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let arguments: Vec<String> = arguments.collect();
    let build = BuildInfo {
        wasm_engines: kiln_wasm::ENGINES,
        ..BuildInfo::this()
    };
    if let Some(text) = build.answer("function-runner", &arguments, &newest_functions()) {
        // An error here cannot be reported.
        let _ = io::stdout().write_all(text.as_bytes());
        return ExitCode::SUCCESS;
    }
    let config = match RunnerFlags::new(Flavour::FunctionRunner).parse(arguments, &environment) {
        Ok(config) => config,
        Err(stop) => {
            // An error here cannot be reported.
            let _ = io::stderr().write_all(stop.text().as_bytes());
            return ExitCode::from(stop.exit_code());
        }
    };
    match serve(&config, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "function-runner: {error:#}");
            ExitCode::FAILURE
        }
    }
}
