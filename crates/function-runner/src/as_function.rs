//! Runs the program as a built-in function, when it is called through a link with the function's name.
//!
//! Images contain such links, so that a table of programs can list them. `kiln` can be linked in the same way.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use kiln_functions::registry::{FunctionVersion, Registry};
use kiln_functions::{Context, Files, wire};
use kiln_runtime::RunContext;

/// The function that the program is called as.
pub struct CalledAs {
    name: String,
    function_version: Option<&'static FunctionVersion>,
}

impl CalledAs {
    /// The function `NAME` or `NAME:VERSION` in the last component of the program's path.
    pub fn of(program: &OsStr) -> Option<CalledAs> {
        let called = Path::new(program).file_name()?.to_str()?;
        let (name, version) = match called.split_once(':') {
            Some((name, version)) => (name, Some(version)),
            None => (called, None),
        };
        let info = Registry::builtin().function(name)?;
        let function_version = match version {
            Some(version) => info.version(version),
            None => info.newest(),
        };
        Some(CalledAs {
            name: called.to_owned(),
            function_version,
        })
    }

    /// Runs the function: reads a list from standard input, writes the answer to standard output.
    pub fn run(&self) -> Result<ExitCode> {
        let function_version = self.function_version;
        let function_version =
            function_version.with_context(|| format!("{} is not built in", self.name))?;
        let variables = std::env::vars_os();
        let mut environment: Vec<String> = variables
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value.to_str()?)))
            .collect();
        environment.sort();
        let ctx = Context {
            environment: &environment,
            run: &RunContext::default(),
            files: &HostFiles,
        };
        let mut input = Vec::new();
        io::stdin().read_to_end(&mut input)?;
        let answer = wire::run(function_version, input, &ctx)?;
        io::stdout().write_all(answer.stdout.as_bytes())?;
        io::stderr().write_all(answer.stderr.as_bytes())?;
        Ok(ExitCode::from(
            u8::try_from(answer.exit_code).unwrap_or(u8::MAX),
        ))
    }
}

/// The files of the host, as any program sees them.
struct HostFiles;

impl Files for HostFiles {
    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}
