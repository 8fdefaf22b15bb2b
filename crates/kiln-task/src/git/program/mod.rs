//! Git as a program: every call of it is made here.
//!
//! There is never a shell. What the caller's environment says to git about repositories, indexes and identities does not
//! reach it; what it says about credentials and connections does. Nothing that the settings of a repository name is run:
//! neither hooks nor monitors, and what is missing in a partial clone is not fetched.

mod talk;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::Duration;

/// How git is found and what it gets to know.
#[derive(Clone, Debug)]
pub struct GitProgram {
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
    config: Vec<(String, String)>,
    git_dir: Option<PathBuf>,
    directory: Option<PathBuf>,
    patience: Option<Duration>,
}

/// How long a command may take that talks to another machine, unless told otherwise.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// What git could not do.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git, or it cannot be started.
    #[error("cannot run git")]
    NotStarted(#[source] io::Error),
    /// The connection to it broke.
    #[error("cannot talk to git {command}")]
    Broken {
        /// The command.
        command: &'static str,
        /// What the operating system says.
        #[source]
        error: io::Error,
    },
    /// The copy of a repository cannot be locked.
    #[error("cannot lock the copy of the repository")]
    Lock(#[source] io::Error),
    /// Another machine does not answer.
    #[error("git {command} did not come to an end within {}s: the other side does not answer", patience.as_secs())]
    TimedOut {
        /// The command.
        command: &'static str,
        /// How long it was waited for.
        patience: Duration,
    },
    /// Objects cannot be written.
    #[error("cannot write objects into the repository")]
    Objects(#[source] io::Error),
    /// It says why it failed.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The command.
        command: &'static str,
        /// What it says, without credentials.
        message: String,
    },
    /// It stopped answering, as it does when an object is not there that should be.
    #[error(
        "git {command} gave up: the repository is damaged, or a partial clone, for which nothing is fetched (`git fetch --refetch --no-filter` completes it)"
    )]
    GaveUp {
        /// The command.
        command: &'static str,
    },
    /// It answered something else than what was asked.
    #[error("git {command} gave an answer that makes no sense: {answer}")]
    Unexpected {
        /// The command.
        command: &'static str,
        /// The answer.
        answer: String,
    },
}

/// Variables for git that are passed on: how to connect and to prove who one is, and where the user's settings are.
const PASSED_ON: &[&str] = &[
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_CURL_VERBOSE",
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
    /// Git at a path, or by its name, in an environment, from which is taken out what does not concern it.
    pub fn new(
        program: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> GitProgram {
        let mut variables: Vec<(OsString, OsString)> = environment
            .into_iter()
            .filter(|(name, _)| is_passed_on(name))
            .collect();
        // Its words are read.
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
            // Others hold locks for moments only; on a busy machine these are longer than git thinks.
            ("core.filesRefLockTimeout", "5000"),
            ("core.packedRefsTimeout", "5000"),
            ("advice.detachedHead", "false"),
        ];
        let config = config.map(|(key, value)| (key.to_owned(), value.to_owned()));
        GitProgram {
            program: program.into(),
            variables,
            config: config.to_vec(),
            git_dir: None,
            directory: None,
            patience: Some(DEFAULT_PATIENCE),
        }
    }

    /// The same with another limit to how long other machines are waited for; none to wait for ever.
    pub fn with_patience(self, patience: Option<Duration>) -> GitProgram {
        GitProgram { patience, ..self }
    }

    /// The same in a repository, given by git's own directory.
    pub(super) fn in_repository(&self, git_dir: &Path) -> GitProgram {
        GitProgram {
            git_dir: Some(git_dir.to_owned()),
            ..self.clone()
        }
    }

    /// The same with a setting. It is passed in the environment, where others cannot read it.
    pub(super) fn with_config(mut self, key: &str, value: &str) -> GitProgram {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The same in a directory, and in whatever repository is around it.
    pub(super) fn in_directory(&self, directory: &Path) -> GitProgram {
        GitProgram {
            git_dir: None,
            directory: Some(directory.to_owned()),
            ..self.clone()
        }
    }

    /// Git's own directory, if it is known.
    pub(super) fn git_dir(&self) -> Option<&Path> {
        self.git_dir.as_deref()
    }

    /// The same with another directory for new objects.
    pub(super) fn with_objects(&self, new: &Path, others: &Path) -> GitProgram {
        let mut git = self.clone();
        // The others are a list in which a colon separates, unless it is quoted.
        let others: OsString = match others.to_str() {
            Some(text) => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{text}\"").into()
            }
            None => others.into(),
        };
        let variables = [
            ("GIT_OBJECT_DIRECTORY", new.into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", others),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value));
        git.variables.extend(variables);
        git
    }

    /// The same with another index than the repository's own.
    pub(super) fn with_index(mut self, index: &Path) -> GitProgram {
        self.variables.push(("GIT_INDEX_FILE".into(), index.into()));
        self
    }

    /// Runs a command to its good end; its output.
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

    /// Runs a command to whatever end.
    pub(super) fn output(
        &self,
        command: &'static str,
        arguments: &[&OsStr],
        input: &[u8],
    ) -> Result<Output, GitError> {
        self.output_to(Stdio::piped(), command, arguments, input)
    }

    /// The same with another place to write its output to.
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
        let mut child = process.spawn().map_err(GitError::NotStarted)?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || feed(stdin, input));
            child.wait_with_output()
        });
        output.map_err(|error| GitError::Broken { command, error })
    }

    /// Starts a command with pipes to its input and from its output.
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
        process.spawn().map_err(GitError::NotStarted)
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

/// Who stops reading has said all there is to say in its exit code.
fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input);
    }
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

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return true;
    };
    let is_language = name == "LC_ALL" || name == "LANGUAGE";
    !is_language && (!name.starts_with("GIT_") || PASSED_ON.contains(&name))
}

/// A text in which addresses have lost the names and passwords they came with; of SSH only the passwords, because the name is
/// part of the address there and no secret.
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

/// Git's own directory that all work trees of a repository share.
pub(super) fn common_directory(git_dir: &Path) -> PathBuf {
    match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(path) => git_dir.join(path.trim_end()),
        Err(_) => git_dir.to_owned(),
    }
}

#[cfg(test)]
mod tests;
