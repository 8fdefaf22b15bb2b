//! The engines, and whether one is available.

use std::ffi::OsStr;
use std::time::Duration;

use kiln_go::quote;
use kiln_krm::image::{Constraint, Version, VersionError};
use kiln_runtime::process::{self, FinishedProcess, Program, StopSignal};
use kiln_runtime::{CancelToken, Deadline, RunContext, RunError, StartError};

/// A program that runs containers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    Docker,
    Podman,
    Nerdctl,
}

/// Why an engine cannot be used. The words are kpt's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EngineError {
    #[error("unsupported runtime: {} the runtime must be one of [docker podman nerdctl]", quote(.0))]
    Unsupported(String),
    /// It is missing, or does not answer.
    #[error("{reason}\n{}", hint(*engine))]
    Unavailable {
        engine: Engine,
        /// The failure of its version command.
        reason: String,
        /// What the command printed last; may be empty.
        printed: String,
        is_installed: bool,
    },
    /// The user has not selected an engine, and none can be used. Not in kpt.
    #[error("no container engine is available{}", problems(failed))]
    NoneAvailable {
        /// The engines that are installed, and what is wrong with them.
        failed: Vec<(Engine, String)>,
    },
    #[error(
        "docker client version must be {OLDEST_DOCKER} or greater: found invalid version {found}: {reason}"
    )]
    UnknownVersion { found: String, reason: VersionError },
    #[error("docker client version must be {OLDEST_DOCKER} or greater: found {found}")]
    TooOld { found: String },
}

/// The first version with `--pull`.
const OLDEST_DOCKER: &str = "v20.10.0";

const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

impl Engine {
    /// The engine that a setting names, in upper or lower case; docker if it is empty.
    pub fn parse(setting: &str) -> Result<Engine, EngineError> {
        match setting.to_lowercase().as_str() {
            "" | "docker" => Ok(Engine::Docker),
            "podman" => Ok(Engine::Podman),
            "nerdctl" => Ok(Engine::Nerdctl),
            _ => Err(EngineError::Unsupported(setting.to_owned())),
        }
    }

    /// The name of its command.
    pub fn program(self) -> &'static str {
        match self {
            Engine::Docker => "docker",
            Engine::Podman => "podman",
            Engine::Nerdctl => "nerdctl",
        }
    }

    pub const ALL: [Engine; 3] = [Engine::Docker, Engine::Podman, Engine::Nerdctl];

    /// Checks the version of the engine. The inner result is that of the check; the outer one fails if the call was
    /// cancelled.
    pub fn check(
        self,
        search_path: &OsStr,
        cancel: &CancelToken,
    ) -> Result<Result<(), EngineError>, RunError> {
        let arguments: &[&str] = match self {
            Engine::Docker => &["version", "--format", "{{.Client.Version}}"],
            Engine::Podman | Engine::Nerdctl => &["version"],
        };
        let ctx = RunContext {
            deadline: Deadline::after(VERSION_TIMEOUT),
            cancel: cancel.clone(),
            ..RunContext::default()
        };
        let answer = self.call(search_path, arguments, &ctx);
        if let Err(RunError::Cancelled) = answer {
            return Err(RunError::Cancelled);
        }
        Ok(self.judge(answer))
    }

    /// Runs the engine's command with nothing on its standard input.
    pub(crate) fn call(
        self,
        search_path: &OsStr,
        arguments: &[&str],
        ctx: &RunContext,
    ) -> Result<FinishedProcess, RunError> {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let program = Program {
            name: self.program(),
            arguments: &arguments,
            search_path,
            stop_signal: StopSignal::Kill,
            sandbox: None,
            environment: None,
        };
        process::run(program, b"", ctx)
    }

    fn judge(self, answer: Result<FinishedProcess, RunError>) -> Result<(), EngineError> {
        let unavailable = |reason| EngineError::Unavailable {
            engine: self,
            reason,
            printed: String::new(),
            is_installed: true,
        };
        let version = match answer {
            Ok(finished) if finished.exit_code != 0 => {
                return Err(EngineError::Unavailable {
                    engine: self,
                    reason: finished.exit_text(),
                    printed: last_line(&finished.stderr),
                    is_installed: true,
                });
            }
            Ok(finished) => finished.stdout,
            // Go's message for a process that it killed.
            Err(RunError::TimedOut { .. }) => return Err(unavailable("signal: killed".to_owned())),
            Err(error) => {
                return Err(EngineError::Unavailable {
                    engine: self,
                    reason: error.to_string(),
                    printed: String::new(),
                    is_installed: !is_missing(&error),
                });
            }
        };
        match self {
            Engine::Podman | Engine::Nerdctl => Ok(()),
            Engine::Docker if version.is_empty() => {
                Err(unavailable("docker reports no version".to_owned()))
            }
            Engine::Docker => {
                let version = String::from_utf8_lossy(&version);
                check_docker_version(version.strip_suffix('\n').unwrap_or(&version))
            }
        }
    }
}

/// The last line that is not empty, at most 300 characters of it.
fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    let shown = line.unwrap_or_default().chars().take(300);
    shown.filter(|char| !char.is_control()).collect()
}

fn check_docker_version(found: &str) -> Result<(), EngineError> {
    let version = Version::parse(found).map_err(|reason| EngineError::UnknownVersion {
        found: found.to_owned(),
        reason,
    })?;
    let constraint = Constraint::parse(&format!(">={OLDEST_DOCKER}"));
    if constraint.is_ok_and(|constraint| constraint.matches(&version)) {
        return Ok(());
    }
    let found = found.to_owned();
    Err(EngineError::TooOld { found })
}

fn is_missing(error: &RunError) -> bool {
    matches!(error, RunError::NotStarted(StartError::NotOnPath { .. }))
}

impl EngineError {
    /// The engine and what is wrong with it, in one line; `None` if it is not installed.
    pub(crate) fn problem(&self, engine: Engine) -> Option<(Engine, String)> {
        let text = match self {
            EngineError::Unavailable {
                is_installed: false,
                ..
            } => return None,
            EngineError::Unavailable {
                reason, printed, ..
            } => match printed.as_str() {
                "" => reason.clone(),
                printed => printed.to_owned(),
            },
            error => error.to_string(),
        };
        Some((engine, text))
    }
}

fn problems(failed: &[(Engine, String)]) -> String {
    let failed = failed.iter();
    failed
        .map(|(engine, problem)| format!("; {}: {problem}", engine.program()))
        .collect()
}

fn hint(engine: Engine) -> &'static str {
    match engine {
        Engine::Docker => {
            "docker must be running to use this command\n\
             To install docker, follow the instructions at https://docs.docker.com/get-docker/.\n"
        }
        Engine::Podman => {
            "podman must be installed.\n\
             To install podman, follow the instructions at https://podman.io/getting-started/installation.\n"
        }
        Engine::Nerdctl => {
            "nerdctl must be installed.\n\
             To install nerdctl, follow the instructions at https://github.com/containerd/nerdctl#install.\n"
        }
    }
}

#[cfg(test)]
mod tests;
