//! The function runner: a gRPC service that runs functions for Porch.

use std::io::{self, Write as _};
use std::process::ExitCode;

use function_runner::{Environment, Flags, Flavour, serve};

fn main() -> ExitCode {
    let environment = Environment::read();
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let config = match Flags::new(Flavour::FunctionRunner).parse(arguments, &environment) {
        Ok(config) => config,
        Err(stop) => {
            // There is nobody to tell if this cannot be written.
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
