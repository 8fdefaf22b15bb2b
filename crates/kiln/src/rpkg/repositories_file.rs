//! The file of registered repositories.
//!
//! It is YAML that users may edit, so unknown fields are errors and never dropped. It is replaced as a whole: a killed command
//! leaves the old file.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use kiln_krm::similar_name;
use kiln_krm::write::json::to_json;
use kiln_remote::Address;
use kiln_task::git::{RepositoryLocation, RepositorySnapshot};
use kiln_task::{
    PackageContextStyle, Repository, RepositoryConfig, RunnerOptions, check_repository_name,
};
use serde::{Deserialize, Serialize};

use super::discovery::parse_location;
use super::git_environment::git_options;
use super::output::to_yaml;
use crate::environment::{HOME, KILN_REPOSITORIES, XDG_CONFIG_HOME};
use crate::error::CommandError;
use crate::flag_values::{go_time, size};
use crate::ui::Ui;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoriesFile {
    #[serde(default)]
    pub(crate) repositories: Vec<RegisteredRepository>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RegisteredRepository {
    pub(crate) name: String,
    /// A path or an address, without credentials.
    pub(crate) repo: String,
    #[serde(default = "main_branch")]
    pub(crate) branch: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) directory: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) deployment: bool,
    #[serde(default, skip_serializing_if = "ContextStyle::is_default")]
    pub(crate) package_context: ContextStyle,
    #[serde(default = "default_namespace")]
    pub(crate) namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    #[serde(default, skip_serializing_if = "RunnerEntry::is_empty")]
    pub(crate) runner: RunnerEntry,
}

/// The style of `package-context.yaml` in a deployment repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ContextStyle {
    /// name (from the Kptfile), package-path, repository, namespace and deployment, in every new revision
    #[default]
    Seed,
    /// name and package-path, both set to the package's path, in clones
    Porch,
}

impl ContextStyle {
    fn is_default(&self) -> bool {
        *self == ContextStyle::default()
    }

    fn style(self) -> PackageContextStyle {
        match self {
            ContextStyle::Seed => PackageContextStyle::Seed,
            ContextStyle::Porch => PackageContextStyle::Porch,
        }
    }
}

/// How the functions of the repository's packages are run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RunnerEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pull_secrets: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_output: Option<String>,
}

fn main_branch() -> String {
    "main".to_owned()
}

fn default_namespace() -> String {
    "default".to_owned()
}

fn is_false(value: &bool) -> bool {
    !value
}

impl RunnerEntry {
    fn is_empty(&self) -> bool {
        *self == RunnerEntry::default()
    }

    fn options(&self) -> Result<RunnerOptions, String> {
        let time = |text: &Option<String>| -> Result<Option<Duration>, String> {
            text.as_deref().map(go_time).transpose()
        };
        let bytes = |text: &Option<String>| text.as_deref().map(size).transpose();
        if let Some(address) = &self.address {
            Address::from_str(address).map_err(|error| error.to_string())?;
        }
        Ok(RunnerOptions {
            endpoint: self.address.clone(),
            pull_secrets: self.pull_secrets.clone(),
            timeout: time(&self.timeout)?,
            memory: bytes(&self.memory)?,
            max_output: bytes(&self.max_output)?,
        })
    }
}

impl RegisteredRepository {
    /// Checks the entry. A path without a repository stays a path, so that `unregister` and `get` still work.
    pub(crate) fn config(&self) -> Result<RepositoryConfig> {
        let location = parse_location(&self.repo)
            .unwrap_or_else(|_| RepositoryLocation::Path(PathBuf::from(&self.repo)));
        let mut config = RepositoryConfig::new(&self.name, location);
        config.branch.clone_from(&self.branch);
        self.directory
            .trim_matches('/')
            .clone_into(&mut config.directory);
        config.deployment = self.deployment;
        config.package_context = self.package_context.style();
        config.namespace.clone_from(&self.namespace);
        let runner = self.runner.options();
        config.runner =
            runner.map_err(|text| anyhow!("runner of repository {}: {text}", self.name))?;
        Ok(config)
    }
}

impl RegisteredRepository {
    pub(crate) fn snapshot(&self, ui: &Ui) -> Result<RepositorySnapshot> {
        Ok(self.open(ui)?.snapshot()?)
    }

    /// Finishes what killed commands left undone, and reads the repository.
    pub(crate) fn sync(&self, ui: &Ui) -> Result<RepositorySnapshot> {
        let repository = self.open(ui)?;
        repository.store.recover()?;
        Ok(repository.snapshot()?)
    }

    fn open(&self, ui: &Ui) -> Result<Repository> {
        Ok(Repository::open(self.config()?, &git_options(ui)?)?)
    }
}

impl RepositoriesFile {
    /// Where the file is. It is an error if the environment does not say where, because no other place is the user's own.
    fn path() -> Result<PathBuf> {
        file_path().ok_or_else(|| {
            let error = anyhow!("cannot locate the repositories file: {HOME} is not set");
            let hint = format!("set {HOME}, or name the file with {KILN_REPOSITORIES}");
            CommandError::with_hint(error, hint).into()
        })
    }

    /// Reads the file. A missing file is an empty one.
    pub(crate) fn read() -> Result<RepositoriesFile> {
        let Some(path) = file_path() else {
            return Ok(RepositoriesFile::default());
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(RepositoriesFile::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let parse = || -> Result<RepositoriesFile> {
            let Some(document) = kiln_yaml::parse_first(&text)? else {
                return Ok(RepositoriesFile::default());
            };
            // Parsed as a value first: errors with line numbers of the intermediate JSON would mislead.
            let value: serde_json::Value = serde_json::from_str(&to_json(&document)?)?;
            let file: RepositoriesFile = serde_json::from_value(value)?;
            let mut names = HashSet::new();
            for entry in &file.repositories {
                check_repository_name(&entry.name)?;
                entry.config()?;
                if !names.insert(&entry.name) {
                    bail!("repository {:?} is registered twice", entry.name);
                }
            }
            Ok(file)
        };
        parse().with_context(|| format!("{} is invalid", path.display()))
    }

    pub(crate) fn into_configs(self) -> Vec<RepositoryConfig> {
        let entries = self.repositories.iter();
        entries.filter_map(|entry| entry.config().ok()).collect()
    }

    /// Changes the file under a lock, so that concurrent commands do not undo each other's changes.
    pub(crate) fn change(change: impl FnOnce(&mut RepositoriesFile) -> Result<()>) -> Result<()> {
        let path = RepositoriesFile::path()?;
        let cannot_write = || format!("cannot write {}", path.display());
        let lock = || -> std::io::Result<File> {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let lock = File::create(path.with_extension("lock"))?;
            lock.lock()?;
            Ok(lock)
        };
        let _lock = lock().with_context(cannot_write)?;
        let mut file = RepositoriesFile::read()?;
        change(&mut file)?;
        file.write(&path).with_context(cannot_write)
    }

    fn write(&self, path: &Path) -> Result<()> {
        let temporary = path.with_extension("new");
        let mut file = File::create(&temporary)?;
        file.write_all(to_yaml(&serde_json::to_value(self)?).as_bytes())?;
        file.sync_all()?;
        Ok(std::fs::rename(&temporary, path)?)
    }

    pub(crate) fn check_unused(&self, name: &str) -> Result<()> {
        match self.find(name) {
            None => Ok(()),
            Some(_) => bail!(
                "repository {name:?} already exists; run `kiln repo unregister {name}` to remove it"
            ),
        }
    }

    /// The error for a name that is not registered.
    pub(crate) fn unknown(&self, name: &str) -> anyhow::Error {
        let names = self.repositories.iter().map(|entry| entry.name.as_str());
        let list = "`kiln repo get` lists the registered repositories";
        let hint = match similar_name(name, names) {
            Some(similar) => format!("did you mean {similar}? {list}"),
            None => list.to_owned(),
        };
        CommandError::with_hint(anyhow!("cannot find repository {name:?}"), hint).into()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&RegisteredRepository> {
        self.repositories.iter().find(|entry| entry.name == name)
    }
}

/// Where the file is, as far as the environment says so.
fn file_path() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = variable(KILN_REPOSITORIES) {
        return Some(PathBuf::from(path));
    }
    let config = match (variable(XDG_CONFIG_HOME), variable(HOME)) {
        (Some(config), _) => PathBuf::from(config),
        (None, Some(home)) => PathBuf::from(home).join(".config"),
        (None, None) => return None,
    };
    Some(config.join("kiln/repositories.yaml"))
}
