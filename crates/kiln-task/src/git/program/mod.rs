//! Runs git, the program. No other module does.
//!
//! There is never a shell. Of the caller's environment, variables about credentials and connections reach git; those about
//! repositories, indexes and identities do not. Nothing that the settings of a repository name is run: neither hooks nor
//! file system monitors, and objects that a partial clone lacks are not fetched.

mod filters;
mod remote_command;
mod version;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

pub(super) use filters::os_string;
pub use version::GitVersion;

/// The git program with its environment, settings and repository.
#[derive(Clone, Debug)]
pub struct GitProgram {
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
    config: Vec<(OsString, String)>,
    git_dir: Option<PathBuf>,
    directory: Option<PathBuf>,
    timeout: Option<Duration>,
    observer: Option<Arc<dyn RemoteObserver>>,
}

/// Is notified when git talks to a remote.
pub trait RemoteObserver: fmt::Debug + Send + Sync {
    /// Begins a command. The returned value is dropped at its end. `address` has no credentials.
    fn begin(&self, command: &'static str, address: String) -> Box<dyn Send>;
}

/// The default timeout of commands that talk to a remote.
pub const DEFAULT_GIT_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Why a git command failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot run git")]
    Missing(#[source] NoGit),
    /// Git is there and cannot be started.
    #[error("cannot run git")]
    NotStarted(#[source] io::Error),
    /// Git is older than the oldest release that works.
    #[error(
        "git {version} is too old: kiln needs git {}.{} or newer; install a newer git",
        GitVersion::OLDEST.0,
        GitVersion::OLDEST.1
    )]
    TooOld { version: GitVersion },
    /// The pipes to git broke, or there was no thread to serve them.
    #[error("cannot exchange data with git {command}")]
    Pipe {
        command: &'static str,
        #[source]
        error: io::Error,
    },
    #[error("cannot lock the local copy of the repository")]
    Lock(#[source] io::Error),
    /// A command that talks to a remote was stopped because it took too long.
    #[error("git {command} timed out after {}s", timeout.as_secs())]
    TimedOut {
        command: &'static str,
        timeout: Duration,
        /// Error types that forward to this one hide it, but not its source.
        #[source]
        cause: NoResponse,
    },
    #[error("cannot write objects into the repository")]
    Objects(#[source] io::Error),
    #[error("git {command} failed: {message}")]
    Failed {
        command: &'static str,
        /// Git's own message, without credentials.
        message: String,
    },
    /// Git ended in the middle of its output, as it does when an object is missing.
    #[error(
        "git {command} ended early: the repository is damaged, or it is a partial clone whose missing objects kiln does not fetch (complete it with `git fetch --refetch --no-filter`)"
    )]
    EndedEarly { command: &'static str },
    #[error("git {command} printed unexpected output: {output}")]
    Unexpected {
        command: &'static str,
        output: String,
    },
}

/// The cause of [`GitError::TimedOut`], by which callers recognise a timeout in a chain of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no response from the remote")]
pub struct NoResponse;

/// The cause of [`GitError::Missing`], by which callers recognise it in a chain of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no git on the PATH")]
pub struct NoGit;

/// Variables named `GIT_…` that reach git: those about connections, credentials and the user's settings.
const PASSED_VARIABLES: &[&str] = &[
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_CURL_VERBOSE",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_HTTP_LOW_SPEED_LIMIT",
    "GIT_HTTP_LOW_SPEED_TIME",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_HTTP_USER_AGENT",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_TERMINAL_PROMPT",
    "GIT_TRACE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_PACKET",
];

impl GitProgram {
    /// Git at a path or by its name. Of the environment, only the variables that concern it are kept.
    pub fn new(
        program: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> GitProgram {
        let mut variables: Vec<(OsString, OsString)> = environment
            .into_iter()
            .filter(|(name, _)| is_passed(name))
            .collect();
        // Messages of git are parsed, so they must be English.
        variables.push(("LC_ALL".into(), "C".into()));
        variables.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        variables.push(("GIT_NO_LAZY_FETCH".into(), "1".into()));
        let config = [
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("protocol.ext.allow", "never"),
            ("submodule.recurse", "false"),
            ("fetch.recurseSubmodules", "false"),
            ("push.recurseSubmodules", "no"),
            ("push.gpgSign", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            // Other processes hold locks briefly, but on a busy machine for longer than git waits by default.
            ("core.filesRefLockTimeout", "5000"),
            ("core.packedRefsTimeout", "5000"),
            ("advice.detachedHead", "false"),
        ];
        let config = config.map(|(key, value)| (key.into(), value.to_owned()));
        GitProgram {
            program: program.into(),
            variables,
            config: config.to_vec(),
            git_dir: None,
            directory: None,
            timeout: Some(DEFAULT_GIT_TIMEOUT),
            observer: None,
        }
    }

    /// The same with another timeout for commands that talk to a remote; `None` for no limit.
    pub fn with_timeout(self, timeout: Option<Duration>) -> GitProgram {
        GitProgram { timeout, ..self }
    }

    /// The same with an observer of commands that talk to a remote.
    pub fn with_observer(self, observer: Arc<dyn RemoteObserver>) -> GitProgram {
        GitProgram {
            observer: Some(observer),
            ..self
        }
    }

    /// The same without questions on the terminal; credential helpers still answer.
    pub(super) fn without_prompts(self) -> GitProgram {
        self.with_variable("GIT_TERMINAL_PROMPT", "0")
    }

    /// The same without remotes. A git that does not know `GIT_NO_LAZY_FETCH` fails instead of fetching missing objects.
    pub(super) fn without_remotes(self) -> GitProgram {
        self.with_variable("GIT_ALLOW_PROTOCOL", "none")
    }

    fn with_variable(mut self, name: &str, value: &str) -> GitProgram {
        self.variables.retain(|(variable, _)| variable != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The same in the repository of a git directory (`.git`).
    pub(super) fn in_repository(&self, git_dir: &Path) -> GitProgram {
        GitProgram {
            git_dir: Some(git_dir.to_owned()),
            ..self.clone()
        }
    }

    /// The same with a setting. It is passed in the environment, where other users cannot read it.
    pub(super) fn with_config(mut self, key: impl AsRef<OsStr>, value: &str) -> GitProgram {
        self.config
            .push((key.as_ref().to_owned(), value.to_owned()));
        self
    }

    /// The same in a directory and the repository around it.
    pub(super) fn in_directory(&self, directory: &Path) -> GitProgram {
        GitProgram {
            git_dir: None,
            directory: Some(directory.to_owned()),
            ..self.clone()
        }
    }

    pub(super) fn git_dir(&self) -> Option<&Path> {
        self.git_dir.as_deref()
    }

    /// The same with another directory for new objects. Existing objects are read from `existing` as well.
    pub(super) fn with_objects(&self, new: &Path, existing: &Path) -> GitProgram {
        let mut git = self.clone();
        // The variable is a list separated by colons, unless quoted.
        let existing: OsString = match existing.to_str() {
            Some(text) => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{text}\"").into()
            }
            None => existing.into(),
        };
        let variables = [
            ("GIT_OBJECT_DIRECTORY", new.into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", existing),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value));
        git.variables.extend(variables);
        git
    }

    /// The same with another index file.
    pub(super) fn with_index(mut self, index: &Path) -> GitProgram {
        self.variables.push(("GIT_INDEX_FILE".into(), index.into()));
        self
    }

    /// The value of a setting where this git runs, such as `user.name`; `None` if it is not set.
    pub fn setting(&self, key: &str) -> Result<Option<String>, GitError> {
        let output = self.output("config", &["--get", key].map(OsStr::new), b"")?;
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().into())),
            Some(1) => Ok(None),
            _ => Err(failed("config", &output)),
        }
    }

    /// Runs a command that must succeed, and returns its standard output.
    pub(super) fn run(
        &self,
        command: &'static str,
        arguments: &[&OsStr],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let output = self.output(command, arguments, input)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failed(command, &output)),
        }
    }

    /// Runs a command that may fail.
    pub(super) fn output(
        &self,
        command: &'static str,
        arguments: &[&OsStr],
        input: &[u8],
    ) -> Result<Output, GitError> {
        self.output_to(Stdio::piped(), command, arguments, input)
    }

    /// Runs a command that may fail, with its standard output redirected.
    pub(super) fn output_to(
        &self,
        stdout: Stdio,
        command: &'static str,
        arguments: &[&OsStr],
        input: &[u8],
    ) -> Result<Output, GitError> {
        let mut process = self.command(command, arguments);
        process
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped());
        let mut child = process.spawn().map_err(|error| self.not_started(error))?;
        let stdin = child.stdin.take().filter(|_| !input.is_empty());
        let output = std::thread::scope(|scope| {
            if stdin.is_some() {
                let feeder = std::thread::Builder::new();
                if let Err(error) = feeder.spawn_scoped(scope, move || feed(stdin, input)) {
                    kill(&mut child);
                    return Err(error);
                }
            }
            child.wait_with_output()
        });
        output.map_err(|error| GitError::Pipe { command, error })
    }

    /// Starts a command with pipes for its input and output.
    pub(super) fn spawn(
        &self,
        command: &'static str,
        arguments: &[&OsStr],
        stderr: Stdio,
    ) -> Result<Child, GitError> {
        let mut process = self.command(command, arguments);
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr);
        process.spawn().map_err(|error| self.not_started(error))
    }

    fn not_started(&self, error: io::Error) -> GitError {
        // A program that is named without a directory is searched on the PATH.
        let is_searched = self.program.components().count() == 1;
        let is_missing = error.kind() == io::ErrorKind::NotFound
            && is_searched
            && self.directory.as_ref().is_none_or(|it| it.is_dir());
        match is_missing {
            true => GitError::Missing(NoGit),
            false => GitError::NotStarted(error),
        }
    }

    fn command(&self, command: &'static str, arguments: &[&OsStr]) -> Command {
        let mut process = Command::new(&self.program);
        process.env_clear().envs(self.variables.iter().cloned());
        let count = self.config.len();
        process.env("GIT_CONFIG_COUNT", count.to_string());
        for (index, (key, value)) in self.config.iter().enumerate() {
            process.env(format!("GIT_CONFIG_KEY_{index}"), key);
            process.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        if let Some(git_dir) = &self.git_dir {
            process.env("GIT_DIR", git_dir);
        }
        if let Some(directory) = &self.directory {
            process.current_dir(directory);
        }
        process.arg(command).args(arguments);
        process
    }
}

/// Writes the input. A git that stops reading reports why in its exit code.
fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input);
    }
}

fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

pub(super) fn failed(command: &'static str, output: &Output) -> GitError {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    let message = match text.is_empty() {
        true => output.status.to_string(),
        false => without_credentials(text.strip_prefix("fatal: ").unwrap_or(text)),
    };
    GitError::Failed { command, message }
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return true;
    };
    let is_language = name == "LC_ALL" || name == "LANGUAGE";
    !is_language && (!name.starts_with("GIT_") || PASSED_VARIABLES.contains(&name))
}

/// Removes user names and passwords from addresses in a text. User names of SSH stay: they are part of the address and not
/// secret.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean += before;
        clean += "://";
        let end = after.find(|c: char| c == '/' || c == '\'' || c.is_whitespace());
        let (host, tail) = after.split_at(end.unwrap_or(after.len()));
        clean += &match host.rsplit_once('@') {
            None => host.to_owned(),
            Some((user, host)) if before.ends_with("ssh") => {
                let name = user.split(':').next().unwrap_or_default();
                format!("{name}@{host}")
            }
            Some((_, host)) => host.to_owned(),
        };
        rest = tail;
    }
    clean + rest
}

/// The git directory that all work trees of a repository share.
pub(super) fn common_directory(git_dir: &Path) -> PathBuf {
    match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(path) => git_dir.join(path.trim_end()),
        Err(_) => git_dir.to_owned(),
    }
}

#[cfg(test)]
mod tests;
