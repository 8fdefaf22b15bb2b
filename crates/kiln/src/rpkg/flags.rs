//! The flags that choose repositories, shared by all verbs.

use anyhow::Result;
use clap::Args;
use kiln_task::git::Atomicity;
use kiln_task::{Repositories, RepositoryConfig};

use super::discovery::{add_around_current_directory, find_or_add};
use super::git_environment::git_options;
use super::repositories_file::RepositoriesFile;
use super::session::Session;
use crate::ui::Ui;

/// Flags of every verb that reads revisions.
#[derive(Args, Debug, Default)]
pub(crate) struct RepositoryFlags {
    /// Git repository: a path, a URL or a registered name. Default: the registered repositories and the one around the
    /// current directory
    #[arg(long, value_name = "PATH|URL|NAME")]
    repo: Option<String>,
    /// Use only repositories registered for this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

/// Flags of every verb that changes revisions.
#[derive(Args, Debug, Default)]
pub(crate) struct WriteFlags {
    #[command(flatten)]
    pub(crate) repository: RepositoryFlags,
    /// Update refs one by one if the repository cannot update several at once
    #[arg(long)]
    no_atomic: bool,
}

impl RepositoryFlags {
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }

    pub(crate) fn open(&self, ui: &Ui) -> Result<Session> {
        self.open_with(ui, Atomicity::Required)
    }

    fn open_with(&self, ui: &Ui, atomicity: Atomicity) -> Result<Session> {
        let mut configs = RepositoriesFile::read()?.into_configs();
        let is_selected = |config: &&RepositoryConfig| match &self.namespace {
            Some(namespace) => config.namespace == *namespace,
            None => true,
        };
        let mut listed: Vec<String> = configs
            .iter()
            .filter(is_selected)
            .map(|config| config.name.clone())
            .collect();
        if let Some(repo) = &self.repo {
            listed = vec![find_or_add(repo, &mut configs)?];
        } else if let Some(name) = add_around_current_directory(&mut configs) {
            let config = configs.iter().find(|config| config.name == name);
            if config.as_ref().is_some_and(is_selected) && !listed.contains(&name) {
                listed.push(name);
            }
        }
        listed.sort();
        Ok(Session {
            repositories: Repositories::new(configs, git_options(ui)?),
            listed,
            namespace: self.namespace.clone(),
            atomicity,
        })
    }
}

impl WriteFlags {
    pub(crate) fn open(&self, ui: &Ui) -> Result<Session> {
        let atomicity = match self.no_atomic {
            true => Atomicity::NotRequired,
            false => Atomicity::Required,
        };
        self.repository.open_with(ui, atomicity)
    }
}
