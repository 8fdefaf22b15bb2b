//! The policy that is in force: which files apply, and what happens when they change.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kiln_go::quote;
use kiln_runtime::{FileValue, FileValueError, FunctionSpec, MadeValue, Refresh};

use crate::policy::{Permission, Policy, PolicyFile};
use crate::refusal::PolicyRefusal;
use crate::way::RunWay;

/// The policy of the machine, which always applies.
pub const SYSTEM_POLICY: &str = "/etc/kiln/policy.yaml";

/// Where policies are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyPaths {
    /// Always applies, if it exists. Programs use [`SYSTEM_POLICY`].
    pub system: PathBuf,
    /// The file that the user names. It replaces the user's own file, and must exist.
    pub given: Option<PathBuf>,
    /// The user's own file, if it exists.
    pub user: Option<PathBuf>,
}

impl PolicyPaths {
    /// The paths of a program. `given` is that of a flag or variable, `config` the user's directory for configuration.
    pub fn new(given: Option<PathBuf>, config: Option<PathBuf>) -> PolicyPaths {
        PolicyPaths {
            system: PathBuf::from(SYSTEM_POLICY),
            given,
            user: config.map(|config| config.join("kiln/policy.yaml")),
        }
    }
}

/// Why no policy can be in force, so that nothing may run.
#[derive(Debug, thiserror::Error)]
pub enum PolicyLoadError {
    #[error("cannot read policy {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("policy {} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("the policy is invalid: {0}")]
    Invalid(String),
}

/// What users and logs have to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyEvent<'a> {
    /// A function runs without a rule, and the default is to warn. Reported once for each function.
    Warned(&'a str),
    /// The files, or the keys that they name, have changed and are in force.
    Replaced,
    /// The files have changed and are invalid, for this reason; the old policy stays. Reported once.
    Kept(&'a str),
}

/// A policy from files that may change while the program runs, as the files of its keys may.
pub struct LoadedPolicy {
    policy: FileValue<Policy>,
    listener: Box<Listener>,
    warned: Mutex<HashSet<String>>,
}

type Listener = dyn Fn(PolicyEvent<'_>) + Send + Sync;

/// How many functions are remembered so that they are warned about once.
const MAX_WARNED: usize = 10_000;

impl LoadedPolicy {
    /// Reads the files that apply; `None` if there are none. A file that appears later is read by the next program.
    pub fn load(
        paths: &PolicyPaths,
        listener: impl Fn(PolicyEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Option<LoadedPolicy>, PolicyLoadError> {
        let mut files = Vec::new();
        if is_there(&paths.system)? {
            files.push(paths.system.clone());
        }
        match (&paths.given, &paths.user) {
            (Some(given), _) => files.push(given.clone()),
            (None, Some(user)) if is_there(user)? => files.push(user.clone()),
            _ => {}
        }
        if files.is_empty() {
            return Ok(None);
        }
        for file in &files {
            check_is_file(file)?;
        }
        let names: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
        let policy = FileValue::load_with_files(files, move |contents| {
            let files = names.iter().zip(contents);
            let files = files.map(|(name, contents)| PolicyFile::parse(name, contents));
            let files: Result<Vec<PolicyFile>, _> = files.collect();
            let files = files.map_err(|error| error.to_string())?;
            let value = Policy { files };
            let files = value.key_files();
            Ok(MadeValue { value, files })
        });
        let policy = policy.map_err(|error| match error {
            FileValueError::Read { path, source } => PolicyLoadError::Read { path, source },
            FileValueError::Make(reason) => PolicyLoadError::Invalid(reason),
        })?;
        Ok(Some(LoadedPolicy {
            policy,
            listener: Box::new(listener),
            warned: Mutex::default(),
        }))
    }

    /// The policy in force.
    pub fn current(&self) -> Arc<Policy> {
        match self.policy.refresh() {
            Refresh::Unchanged => {}
            Refresh::Changed => (self.listener)(PolicyEvent::Replaced),
            Refresh::Failed(reason) => (self.listener)(PolicyEvent::Kept(&reason)),
        }
        self.policy.get()
    }

    /// Decides about a function, see [`Policy::decide`], and reports a warning once.
    pub fn decide(
        &self,
        function: &FunctionSpec,
        way: RunWay,
        builtin: Option<&str>,
    ) -> Result<Permission, PolicyRefusal> {
        let permission = self.current().decide(function, way, builtin)?;
        self.warn(function.name(), &permission);
        Ok(permission)
    }

    /// Decides about a script that a package declares.
    pub fn decide_script(&self, path: &str) -> Result<Permission, PolicyRefusal> {
        let permission = self.current().decide_script(path)?;
        self.warn(path, &permission);
        Ok(permission)
    }

    fn warn(&self, function: &str, permission: &Permission) {
        let Some(place) = &permission.warning else {
            return;
        };
        let is_new = {
            let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
            warned.len() < MAX_WARNED && warned.insert(function.to_owned())
        };
        if is_new {
            let function = quote(function);
            let text = format!(
                "no rule of the policy is for function {function}; it runs because the default is warn ({place})"
            );
            (self.listener)(PolicyEvent::Warned(&text));
        }
    }
}

/// Whether there is something at a path where a policy may be missing.
fn is_there(path: &Path) -> Result<bool, PolicyLoadError> {
    // A link that leads nowhere is there: it was meant to be a policy.
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(unreadable(path, error)),
        },
    }
}

/// A pipe would block, and a directory has no contents.
fn check_is_file(path: &Path) -> Result<(), PolicyLoadError> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    match metadata.is_file() {
        true => Ok(()),
        false => Err(PolicyLoadError::NotAFile {
            path: path.to_owned(),
        }),
    }
}

fn unreadable(path: &Path, source: io::Error) -> PolicyLoadError {
    PolicyLoadError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
