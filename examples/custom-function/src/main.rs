//! The function as a program: reads a ResourceList from standard input and writes one to standard output.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use custom_function::REQUIRE_OWNER;
use kiln_functions::{Context, NoFiles, wire};
use kiln_runtime::RunContext;

fn main() -> io::Result<ExitCode> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let answer = wire::run(&REQUIRE_OWNER, input, &ctx).map_err(io::Error::other)?;
    io::stdout().write_all(answer.stdout.as_bytes())?;
    io::stderr().write_all(answer.stderr.as_bytes())?;
    Ok(ExitCode::from(u8::try_from(answer.exit_code).unwrap_or(1)))
}
