//! The file with the repositories that have names.
//!
//! It is YAML, small and meant to be edited by hand as well, so what is not understood is refused rather than lost.
//! It is replaced as a whole: a command that is killed leaves the old one.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use kiln_krm::write::json::to_json;
use kiln_remote::Address;
use kiln_task::git::{Location, Snapshot};
use kiln_task::{
    PackageContextStyle, Repository, RepositoryConfig, RunnerOptions, check_repository_name,
};
use serde::{Deserialize, Serialize};

use crate::commands::function::running::{go_time, size};
use crate::commands::rpkg::output::to_yaml;
use crate::commands::rpkg::place::{git_options, location};
use crate::environment::{HOME, KILN_REPOSITORIES, XDG_CONFIG_HOME};

/// All entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Registry {
    #[serde(default)]
    pub(super) repositories: Vec<Entry>,
}

/// A repository with a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) name: String,
    /// A path or an address, without credentials.
    pub(super) repo: String,
    #[serde(default = "main_branch")]
    pub(super) branch: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) directory: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) deployment: bool,
    #[serde(default, skip_serializing_if = "ContextStyle::is_default")]
    pub(super) package_context: ContextStyle,
    #[serde(default = "default_namespace")]
    pub(super) namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Runner::is_empty")]
    pub(super) runner: Runner,
}

/// Which package contexts the packages of a deployment repository get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(super) enum ContextStyle {
    /// Name (of the Kptfile), package-path, repository, namespace and deployment, in every new revision
    #[default]
    Seed,
    /// Name and package-path, both the package's path, in clones
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

/// How functions of a repository's packages are run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Runner {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pull_secrets: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_output: Option<String>,
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

impl Runner {
    fn is_empty(&self) -> bool {
        *self == Runner::default()
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

impl Entry {
    /// The entry, checked. A path that has no repository any more is known by its path still.
    pub(super) fn config(&self) -> Result<RepositoryConfig> {
        let location =
            location(&self.repo).unwrap_or_else(|_| Location::Path(PathBuf::from(&self.repo)));
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

impl Entry {
    /// What is in the repository now.
    pub(super) fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.open()?.snapshot()?)
    }

    /// The same, after what a command that was killed has left undone.
    pub(super) fn sync(&self) -> Result<Snapshot> {
        let repository = self.open()?;
        repository.store.recover()?;
        Ok(repository.snapshot()?)
    }

    fn open(&self) -> Result<Repository> {
        Ok(Repository::open(self.config()?, &git_options()?)?)
    }
}

impl Registry {
    /// Reads the file; without one there are no entries.
    pub(crate) fn read() -> Result<Registry> {
        let path = path();
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Registry::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let parse = || -> Result<Registry> {
            let Some(document) = kiln_yaml::parse_first(&text)? else {
                return Ok(Registry::default());
            };
            // By way of a value, so that complaints do not name lines of a text that nobody has seen.
            let value: serde_json::Value = serde_json::from_str(&to_json(&document)?)?;
            let registry: Registry = serde_json::from_value(value)?;
            let mut names = HashSet::new();
            for entry in &registry.repositories {
                check_repository_name(&entry.name)?;
                entry.config()?;
                if !names.insert(&entry.name) {
                    bail!("repository {:?} is there twice", entry.name);
                }
            }
            Ok(registry)
        };
        parse().with_context(|| format!("{} makes no sense", path.display()))
    }

    /// What the entries mean.
    pub(crate) fn into_configs(self) -> Vec<RepositoryConfig> {
        let entries = self.repositories.iter();
        entries.filter_map(|entry| entry.config().ok()).collect()
    }

    /// Changes the file. Commands that do so at the same time wait for each other, so that none undoes another's change.
    pub(super) fn change(change: impl FnOnce(&mut Registry) -> Result<()>) -> Result<()> {
        let path = path();
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
        let mut registry = Registry::read()?;
        change(&mut registry)?;
        registry.write(&path).with_context(cannot_write)
    }

    /// Replaces the file.
    fn write(&self, path: &Path) -> Result<()> {
        let beside = path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(to_yaml(&serde_json::to_value(self)?).as_bytes())?;
        file.sync_all()?;
        Ok(std::fs::rename(&beside, path)?)
    }

    /// A name is given once.
    pub(super) fn check_new(&self, name: &str) -> Result<()> {
        match self.find(name) {
            None => Ok(()),
            Some(_) => bail!(
                "repository {name:?} already exists; `kiln repo unregister {name}` forgets it"
            ),
        }
    }

    /// An entry by its name.
    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.repositories.iter().find(|entry| entry.name == name)
    }
}

/// Where the file is.
fn path() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = variable(KILN_REPOSITORIES) {
        return PathBuf::from(path);
    }
    let config = match (variable(XDG_CONFIG_HOME), variable(HOME)) {
        (Some(config), _) => PathBuf::from(config),
        (None, Some(home)) => PathBuf::from(home).join(".config"),
        (None, None) => PathBuf::from("/etc"),
    };
    config.join("kiln/repositories.yaml")
}
