//! The repositories of one command.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use kiln_krm::similar_name;
use kiln_render::Log;
use kiln_task::git::{Atomicity, DEFAULT_MAX_PACKAGE_SIZE, RepositorySnapshot};
use kiln_task::image::RegistryImages;
use kiln_task::{
    AccessError, Engine, Lifecycle, LocatedRevision, Repositories, Repository, RepositoryError,
};

use super::git_environment::author;
use super::render_flags::RenderSetup;
use crate::error::CommandError;
use crate::error::revisions::access_error;
use crate::functions::registry_tags::registry_options;
use crate::ui::Ui;

pub(crate) struct Session {
    pub(crate) repositories: Repositories,
    /// The names of the repositories that `get` lists. Revisions can be named in all repositories.
    pub(super) listed: Vec<String>,
    /// The namespace that `listed` was restricted to.
    pub(super) namespace: Option<String>,
    pub(super) atomicity: Atomicity,
}

impl Session {
    pub(crate) fn engine<'a>(&'a self, setup: &'a RenderSetup, log: &'a dyn Log) -> Engine<'a> {
        Engine {
            repositories: &self.repositories,
            render: setup.settings(log),
            author: author(),
            atomicity: self.atomicity,
        }
    }

    /// The same with packages in images, fetched with Docker's credentials.
    pub(crate) fn with_images(self) -> Result<Session> {
        let images = RegistryImages::new(registry_options()?, DEFAULT_MAX_PACKAGE_SIZE)?;
        Ok(Session {
            repositories: self.repositories.with_images(Arc::new(images)),
            ..self
        })
    }

    /// The listed repositories and their contents.
    pub(crate) fn snapshots(&self, ui: &Ui) -> Result<Vec<(Arc<Repository>, RepositorySnapshot)>> {
        // An empty namespace is normal; no repository at all is a mistake.
        if self.listed.is_empty() && self.namespace.is_none() {
            return Err(no_repository());
        }
        self.read(ui, &self.listed)
    }

    /// All repositories and their contents.
    pub(crate) fn all_snapshots(
        &self,
        ui: &Ui,
    ) -> Result<Vec<(Arc<Repository>, RepositorySnapshot)>> {
        let configs = self.repositories.configs();
        let names: Vec<String> = configs.map(|config| config.name.clone()).collect();
        self.read(ui, &names)
    }

    /// Reads repositories. One of several that cannot be read is a warning.
    fn read(
        &self,
        ui: &Ui,
        names: &[String],
    ) -> Result<Vec<(Arc<Repository>, RepositorySnapshot)>> {
        let mut read = Vec::new();
        for name in names {
            let snapshot = || -> Result<_> {
                let repository = self.repositories.get(name)?;
                let snapshot = repository.snapshot()?;
                Ok((repository, snapshot))
            };
            match snapshot().with_context(|| format!("repository {name}")) {
                Ok(one) => read.push(one),
                Err(error) if names.len() == 1 => return Err(error),
                Err(error) => ui.warn(&format!("{error:#}")),
            }
        }
        Ok(read)
    }

    /// Finds a revision by its full name.
    pub(crate) fn find(&self, name: &str) -> Result<LocatedRevision> {
        let found = self.repositories.find(name);
        found.map_err(|error| self.explain(error))
    }

    /// Adds what the user may have meant to an error about a revision or a repository that does not exist.
    pub(crate) fn explain(&self, error: impl Into<anyhow::Error>) -> anyhow::Error {
        let error = error.into();
        let similar = match error.chain().find_map(access_error) {
            Some(AccessError::NotFound(name)) => self.similar_revision(name),
            Some(AccessError::Repository(RepositoryError::Unknown(name))) => {
                let names = self.listed.iter().map(String::as_str);
                similar_name(name, names).map(str::to_owned)
            }
            _ => return error,
        };
        if self.listed.is_empty() {
            return no_repository();
        }
        let names = self.listed.join(", ");
        let list = format!("repositories: {names}; `kiln rpkg get` lists their revisions");
        let hint = match similar {
            Some(similar) => format!("did you mean {similar}? {list}"),
            None => list,
        };
        CommandError::with_hint(error, hint).into()
    }

    /// The revision with the most similar name.
    fn similar_revision(&self, name: &str) -> Option<String> {
        let known = self.known_revisions();
        let names = known.iter().map(|(name, _)| name.as_str());
        similar_name(name, names).map(str::to_owned)
    }

    /// The revisions of the listed repositories at their last fetch, as far as they can be read.
    pub(crate) fn known_revisions(&self) -> Vec<(String, Lifecycle)> {
        let snapshots = self.listed.iter().filter_map(|repository| {
            let repository = self.repositories.get(repository).ok()?;
            repository.known_snapshot().ok()
        });
        snapshots
            .flat_map(|snapshot| snapshot.revisions)
            .map(|revision| (revision.name.to_string(), revision.lifecycle))
            .collect()
    }

    /// Prints kubectl's message for an empty list.
    pub(crate) fn print_nothing_found(&self, ui: &Ui) {
        match &self.namespace {
            Some(namespace) => {
                ui.print_message(&format!("No resources found in {namespace} namespace."))
            }
            None => ui.print_message("No resources found."),
        }
    }

    /// The default of `--repository`: the only listed repository.
    pub(crate) fn only_repository(&self) -> Option<&str> {
        match &self.listed[..] {
            [name] => Some(name),
            _ => None,
        }
    }
}

fn no_repository() -> anyhow::Error {
    let hint = "run this command inside a git repository, pass --repo, or register one with `kiln repo register`";
    CommandError::with_hint(anyhow!("no repository found"), hint).into()
}
