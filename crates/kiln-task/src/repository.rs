//! Registered repositories.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kiln_go::quote;
use kiln_krm::kptfile::{Git, GitLock, Locator, Upstream};
use kiln_oci::RegistryOptions;

use crate::contents::{Contents, ContentsError};
use crate::git::{
    Atomicity, GitError, GitIdentity, GitOptions, GitStore, InvalidRef, LastChanges, LogEntry,
    NewCommit, ObjectId, OpenError, PackageChange, PublishError, ReadPackageError, RefChange,
    RepositoryLayout, RepositoryLocation, RepositorySnapshot, Revision, Tasks, last_changes,
    log_of,
};
use crate::image::{ImageError, PackageImages, RegistryImages};
use crate::package_context::PackageContextStyle;

/// The registration of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepositoryConfig {
    /// The name, which is the first part of the names of its revisions.
    pub name: String,
    pub location: RepositoryLocation,
    /// The branch of published packages.
    pub branch: String,
    /// The directory of all packages; empty for the whole repository.
    pub directory: String,
    /// Whether it is a deployment repository, whose packages get a package context.
    pub deployment: bool,
    pub package_context: PackageContextStyle,
    pub namespace: String,
    pub runner: RunnerOptions,
}

/// How functions are run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunnerOptions {
    /// The address of a function runner.
    pub endpoint: Option<String>,
    /// The names of image pull secrets. They are recorded but not used: the protocol of function runners has no field for
    /// them, and runners pull images with their own secrets.
    pub pull_secrets: Vec<String>,
    /// The time limit of each function; zero means no limit.
    pub timeout: Option<Duration>,
    /// The memory limit of each function that runs on this machine, in bytes.
    pub memory: Option<u64>,
    /// The output limit of each function, in bytes.
    pub max_output: Option<u64>,
}

impl RepositoryConfig {
    /// A registration with default values.
    pub fn new(name: impl Into<String>, location: RepositoryLocation) -> RepositoryConfig {
        RepositoryConfig {
            name: name.into(),
            location,
            branch: "main".to_owned(),
            directory: String::new(),
            deployment: false,
            package_context: PackageContextStyle::default(),
            namespace: "default".to_owned(),
            runner: RunnerOptions::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("cannot find repository {}", quote(.0))]
    Unknown(String),
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The name of its branch is invalid.
    #[error(transparent)]
    Branch(#[from] InvalidRef),
}

#[derive(Debug, thiserror::Error)]
pub enum CreateBranchError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// All registered repositories. Each is opened at its first use.
#[derive(Debug)]
pub struct Repositories {
    configs: BTreeMap<String, RepositoryConfig>,
    options: GitOptions,
    images: Option<Arc<dyn PackageImages>>,
    open: Mutex<BTreeMap<String, Arc<Repository>>>,
}

/// An open repository.
#[derive(Debug)]
pub struct Repository {
    pub config: RepositoryConfig,
    pub layout: RepositoryLayout,
    pub store: GitStore,
}

impl Repositories {
    pub fn new(
        configs: impl IntoIterator<Item = RepositoryConfig>,
        options: GitOptions,
    ) -> Repositories {
        let configs = configs.into_iter();
        Repositories {
            configs: configs
                .map(|config| (config.name.clone(), config))
                .collect(),
            options,
            images: None,
            open: Mutex::default(),
        }
    }

    /// The same with another client for images, for example one with credentials.
    pub fn with_images(self, images: Arc<dyn PackageImages>) -> Repositories {
        Repositories {
            images: Some(images),
            ..self
        }
    }

    /// The client for images. Default: one without credentials.
    pub fn images(&self) -> Result<Arc<dyn PackageImages>, ImageError> {
        if let Some(images) = &self.images {
            return Ok(Arc::clone(images));
        }
        let options = RegistryOptions::default();
        let images = RegistryImages::new(options, self.options.max_package_size)?;
        Ok(Arc::new(images))
    }

    /// The registrations, sorted by name.
    pub fn configs(&self) -> impl Iterator<Item = &RepositoryConfig> {
        self.configs.values()
    }

    pub fn git_options(&self) -> &GitOptions {
        &self.options
    }

    pub fn get(&self, name: &str) -> Result<Arc<Repository>, RepositoryError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(repository) = open.get(name) {
            return Ok(Arc::clone(repository));
        }
        let config = self.configs.get(name);
        let config = config.ok_or_else(|| RepositoryError::Unknown(name.to_owned()))?;
        let repository = Arc::new(Repository::open(config.clone(), &self.options)?);
        open.insert(name.to_owned(), Arc::clone(&repository));
        Ok(repository)
    }
}

impl Repository {
    pub fn open(
        config: RepositoryConfig,
        options: &GitOptions,
    ) -> Result<Repository, RepositoryError> {
        let layout = RepositoryLayout::new(&config.branch, &config.directory)?;
        let store = GitStore::open(&config.location, options)?;
        Ok(Repository {
            config,
            layout,
            store,
        })
    }

    /// The contents of the repository. Fetches if it is remote.
    pub fn snapshot(&self) -> Result<RepositorySnapshot, GitError> {
        self.store.refresh()?;
        self.known_snapshot()
    }

    /// The contents of the repository at the last fetch.
    pub fn known_snapshot(&self) -> Result<RepositorySnapshot, GitError> {
        RepositorySnapshot::take(&self.store, &self.layout, &self.config.name)
    }

    pub fn contents(&self, revision: &Revision) -> Result<Contents, ReadPackageError> {
        let contents = self
            .store
            .read_package(&revision.commit, &revision.directory)?;
        contents.ok_or_else(|| ReadPackageError::Damaged(revision.commit.to_string()))
    }

    /// Creates the branch of published packages with Porch's first commit, if it does not exist.
    pub fn create_branch(&self) -> Result<(), CreateBranchError> {
        self.store.refresh()?;
        if self.store.refs()?.contains_key(&self.layout.branch) {
            return Ok(());
        }
        let mut contents = Contents::new();
        contents.insert_text("README.md", "Created by porch")?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let commit = self.store.write_commit(&NewCommit {
            parents: Vec::new(),
            package: "",
            change: PackageChange::Contents(&contents),
            message: "Initial commit: Creating main branch",
            author: &GitIdentity::porch(),
            time: since.map_or(0, |since| since.as_secs()),
        })?;
        let change = RefChange {
            name: self.layout.branch.clone(),
            old: None,
            new: Some(commit),
        };
        Ok(self.store.publish(&[change], Atomicity::Required)?)
    }

    /// The first tasks of revisions, from their history.
    pub fn tasks<'a>(
        &self,
        revisions: impl IntoIterator<Item = &'a Revision>,
    ) -> Result<Tasks, GitError> {
        let tips = revisions
            .into_iter()
            .map(|revision| revision.commit.clone());
        let tips: Vec<ObjectId> = tips.collect();
        Tasks::read(&self.store, &tips)
    }

    /// The last changes of packages on a commit of the branch.
    pub fn changes(&self, head: &ObjectId) -> Result<LastChanges, GitError> {
        last_changes(&self.store, head)
    }

    /// The commits of a revision, the newest first.
    pub fn log(&self, revision: &Revision) -> Result<Vec<LogEntry>, GitError> {
        let (directory, workspace) = (&revision.directory, &revision.name.workspace);
        log_of(&self.store, &revision.commit, directory, workspace)
    }

    /// The upstream and the lock for the Kptfile of a package that is made from a revision.
    pub fn locks(&self, revision: &Revision) -> (Upstream, Locator) {
        let reference = revision.reference.short();
        git_locks(
            self.store.address(),
            &revision.directory,
            reference,
            &revision.commit,
        )
    }
}

/// The upstream and the lock for a Kptfile. Addresses of remotes end in `.git`, as kpt writes them, and contain no credentials;
/// paths stay unchanged.
pub(crate) fn git_locks(
    address: &str,
    directory: &str,
    reference: &str,
    commit: &ObjectId,
) -> (Upstream, Locator) {
    let is_local =
        address.starts_with('/') || address.starts_with("file:") || address.starts_with('.');
    let address = crate::git::without_credentials(address);
    let repo = match is_local || address.ends_with(".git") {
        true => address,
        false => format!("{}.git", address.trim_end_matches('/')),
    };
    let directory = match directory {
        "" => "/",
        directory => directory,
    };
    let upstream = Upstream {
        kind: "git".to_owned(),
        git: Some(Git {
            repo: repo.clone(),
            directory: directory.to_owned(),
            git_ref: reference.to_owned(),
        }),
        update_strategy: String::new(),
    };
    let lock = Locator {
        kind: "git".to_owned(),
        git: Some(GitLock {
            repo,
            directory: directory.to_owned(),
            git_ref: reference.to_owned(),
            commit: commit.to_string(),
        }),
        generic: None,
    };
    (upstream, lock)
}
