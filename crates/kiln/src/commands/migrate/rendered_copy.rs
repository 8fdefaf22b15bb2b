//! Renders a copy of a package with a program that has kpt's command line.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use kiln_runtime::process::{self, Program, StopSignal};
use kiln_runtime::{CancelToken, Deadline, RunContext, RunError};
use kiln_task::Contents;

use crate::environment::PATH;
use crate::rpkg::directory;

/// How copies are rendered.
pub(super) struct CopyRenderer {
    /// Allow functions that run programs on this machine.
    pub(super) allow_exec: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) cancel: CancelToken,
}

/// A program that renders, with kpt's command line.
pub(super) struct RenderProgram<'a> {
    pub(super) path: &'a Path,
    pub(super) flags: &'a [&'a str],
    /// Its variables; `None` for those of this process.
    pub(super) environment: Option<&'a [(OsString, OsString)]>,
}

/// A copy of a package after a program rendered it.
pub(super) struct RenderedCopy {
    pub(super) contents: Contents,
    pub(super) time: Duration,
    pub(super) failure: Option<CopyFailure>,
}

pub(super) enum CopyFailure {
    /// The program was stopped at the time limit.
    TimedOut(Duration),
    Failed {
        /// The line with the error, or the last one.
        message: String,
        /// The lines after it.
        details: Vec<String>,
    },
}

impl CopyRenderer {
    pub(super) fn render(
        &self,
        program: &RenderProgram<'_>,
        package: &Contents,
        copy: &Path,
    ) -> Result<RenderedCopy> {
        directory::write(package, copy)?;
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| anyhow!("the name of {} is not UTF-8", path.display()))
        };
        let (name, copy_name) = (text(program.path)?, text(copy)?);
        let mut arguments = vec!["fn".to_owned(), "render".to_owned(), copy_name.clone()];
        let allow_exec = self.allow_exec.then_some("--allow-exec");
        let flags = program.flags.iter().copied().chain(allow_exec);
        arguments.extend(flags.map(str::to_owned));
        let environment = program.environment;
        let program = Program {
            name: &name,
            arguments: &arguments,
            search_path: &std::env::var_os(PATH).unwrap_or_default(),
            // It may have containers to stop.
            stop_signal: StopSignal::Interrupt,
            sandbox: None,
            environment,
        };
        let ctx = RunContext {
            deadline: self.timeout.and_then(Deadline::after),
            cancel: self.cancel.clone(),
            ..RunContext::default()
        };
        let (time, failure) = match process::run(program, b"", &ctx) {
            Ok(finished) => {
                let failed = finished.exit_code != 0;
                let stderr = String::from_utf8_lossy(&finished.stderr);
                let failure = failed.then(|| CopyFailure::read(&stderr, &copy_name));
                (finished.elapsed, failure)
            }
            Err(RunError::TimedOut { timeout, .. }) => {
                (timeout, Some(CopyFailure::TimedOut(timeout)))
            }
            Err(error) => return Err(error).with_context(|| format!("cannot run {name}")),
        };
        Ok(RenderedCopy {
            contents: directory::read(copy)?,
            time,
            failure,
        })
    }
}

impl CopyFailure {
    /// The failure of a program by what it printed. The name of the copy means nothing to the user.
    fn read(stderr: &str, copy: &str) -> CopyFailure {
        let stderr = stderr.replace(copy, "the package");
        let lines = stderr.lines().map(str::trim);
        // kpt has a heading of its own.
        let lines = lines
            .filter(|line| !line.is_empty() && !line.starts_with("hint: ") && *line != "Details:");
        let lines: Vec<&str> = lines.collect();
        let is_error = |line: &&str| line.to_lowercase().starts_with("error");
        let at = lines.iter().position(is_error);
        let at = at.unwrap_or(lines.len().saturating_sub(1));
        let message = lines.get(at).unwrap_or(&"no reason given");
        let details = lines.iter().skip(at + 1);
        CopyFailure::Failed {
            message: (*message).to_owned(),
            details: details.map(|line| (*line).to_owned()).collect(),
        }
    }

    /// Everything that is known, in one line.
    pub(super) fn with_details(&self) -> String {
        match self {
            CopyFailure::TimedOut(_) => "it exceeded the time limit".to_owned(),
            CopyFailure::Failed { message, details } => {
                let all = std::iter::once(message).chain(details);
                all.map(String::as_str).collect::<Vec<_>>().join(" | ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, expected: &str) {
        assert_eq!(CopyFailure::read(stderr, "/tmp/x").with_details(), expected);
    }

    #[test]
    fn the_details_of_a_failure_are_kept() {
        check(
            "Package \"p\":\nError: Kptfile at \"/tmp/x\" can't be read.\n\nDetails:\nyaml: unmarshal errors:\n  line 16: field \
             renderStatus not found in type v1.Status\n",
            "Error: Kptfile at \"the package\" can't be read. | yaml: unmarshal errors: | line 16: field renderStatus not found in \
             type v1.Status",
        );
        check("one\ntwo\nhint: three\n", "two");
        check("", "no reason given");
    }
}
