//! Git as the environment configures it: the program, cache directory, timeout and author.

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use kiln_task::git::{
    DEFAULT_GIT_TIMEOUT, DEFAULT_MAX_FILES, DEFAULT_MAX_PACKAGE_SIZE, GitIdentity, GitOptions,
    GitProgram, RemoteObserver,
};

use crate::environment::{
    GIT_AUTHOR_EMAIL, GIT_AUTHOR_NAME, KILN_GIT_TIMEOUT, own_cache_directory,
};
use crate::flag_values::go_time;
use crate::ui::{Screen, Ui, Work};

/// The git on the PATH.
pub(crate) fn git_program() -> GitProgram {
    GitProgram::new("git", std::env::vars_os())
}

/// Commands that talk to a remote are shown on a terminal.
pub(crate) fn git_options(ui: &Ui) -> Result<GitOptions> {
    let timeout = match std::env::var(KILN_GIT_TIMEOUT) {
        Ok(text) if !text.is_empty() => {
            go_time(&text).map_err(|error| anyhow!("{KILN_GIT_TIMEOUT}: {error}"))?
        }
        _ => DEFAULT_GIT_TIMEOUT,
    };
    let program = git_program().with_observer(Arc::new(RemoteProgress(ui.screen().clone())));
    Ok(GitOptions {
        program: program.with_timeout(Some(timeout).filter(|timeout| !timeout.is_zero())),
        cache: own_cache_directory()?.join("kiln/git"),
        max_package_size: DEFAULT_MAX_PACKAGE_SIZE,
        max_files: DEFAULT_MAX_FILES,
    })
}

/// Shows on a terminal which remote git talks to.
struct RemoteProgress(Screen);

impl fmt::Debug for RemoteProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteProgress")
    }
}

impl RemoteObserver for RemoteProgress {
    fn begin(&self, command: &'static str, address: String) -> Box<dyn Send> {
        Box::new(self.0.progress(Work::Git { command, address }))
    }
}

/// The author of commits: the one that git would use, else Porch's.
pub(crate) fn author() -> GitIdentity {
    let setting = |variable: &str, key: &str| {
        let value = std::env::var(variable).ok().filter(|text| !text.is_empty());
        value.or_else(|| git_setting(key))
    };
    let name = setting(GIT_AUTHOR_NAME, "user.name");
    let email = setting(GIT_AUTHOR_EMAIL, "user.email");
    match (name, email) {
        (Some(name), Some(email)) => GitIdentity { name, email },
        _ => GitIdentity::porch(),
    }
}

/// Without git, nothing is configured.
fn git_setting(key: &str) -> Option<String> {
    let value = git_program().setting(key).ok().flatten();
    value.filter(|text| !text.is_empty())
}
