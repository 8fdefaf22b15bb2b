//! A registered repository: a git repository together with what is known about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kiln_krm::gotext::quote;
use kiln_krm::kptfile::{Git, GitLock, Locator, Upstream};
use kiln_oci::RegistryOptions;

use crate::contents::{Contents, ContentsError};
use crate::git::{
    Atomicity, Changes, GitError, GitOptions, GitStore, Identity, InvalidRef, Layout, Location,
    LogEntry, NewCommit, ObjectId, OpenError, PackageChange, PublishError, ReadPackageError,
    RefChange, Revision, Snapshot, Tasks, changes_on, log_of,
};
use crate::image::{ImageError, PackageImages, RegistryImages};
use crate::package_context::PackageContextStyle;

/// What is known about a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepositoryConfig {
    /// The name by which revisions are called.
    pub name: String,
    /// Where it is.
    pub location: Location,
    /// The branch of published packages.
    pub branch: String,
    /// The directory that packages are in; empty for the whole repository.
    pub directory: String,
    /// Whether its packages are deployed, and so get to know where.
    pub deployment: bool,
    /// What the packages of a deployment repository get to know.
    pub package_context: PackageContextStyle,
    /// The namespace it belongs to.
    pub namespace: String,
    /// How functions of its packages are run.
    pub runner: RunnerOptions,
}

/// How functions are run, where the caller does not say otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunnerOptions {
    /// The address of a function runner.
    pub endpoint: Option<String>,
    /// The names of secrets that images are pulled with. They are kept and not used: the protocol of function runners has no
    /// field for them, and a runner pulls with the secrets of its own configuration.
    pub pull_secrets: Vec<String>,
    /// The time that each function has; none at all means as long as it likes.
    pub timeout: Option<Duration>,
    /// The memory that each function has that is run here, in bytes.
    pub memory: Option<u64>,
    /// How much each function may write, in bytes.
    pub max_output: Option<u64>,
}

impl RepositoryConfig {
    /// A repository with everything as it usually is.
    pub fn new(name: impl Into<String>, location: Location) -> RepositoryConfig {
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

/// Why a repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// Nobody has registered it.
    #[error("cannot find repository {}", quote(.0))]
    Unknown(String),
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its branch cannot be one.
    #[error(transparent)]
    Branch(#[from] InvalidRef),
}

/// Why a branch was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateBranchError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its first commit cannot be made.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// The repository does not take it.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// All repositories that are known. Each is opened when it is first needed.
#[derive(Debug)]
pub struct Repositories {
    configs: BTreeMap<String, RepositoryConfig>,
    options: GitOptions,
    images: Option<Arc<dyn PackageImages>>,
    open: Mutex<BTreeMap<String, Arc<Repository>>>,
}

/// A repository that has been opened.
#[derive(Debug)]
pub struct Repository {
    /// What is known about it.
    pub config: RepositoryConfig,
    /// Where packages are in it.
    pub layout: Layout,
    /// The git repository.
    pub store: GitStore,
}

impl Repositories {
    /// The repositories that are registered.
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

    /// The same with somebody else to find packages in images, who has credentials for instance.
    pub fn with_images(self, images: Arc<dyn PackageImages>) -> Repositories {
        Repositories {
            images: Some(images),
            ..self
        }
    }

    /// What finds packages in images: in registries that everybody may read, if nothing else was said.
    pub fn images(&self) -> Result<Arc<dyn PackageImages>, ImageError> {
        if let Some(images) = &self.images {
            return Ok(Arc::clone(images));
        }
        let options = RegistryOptions::default();
        let images = RegistryImages::new(options, self.options.largest_package)?;
        Ok(Arc::new(images))
    }

    /// What is known about each, by name.
    pub fn configs(&self) -> impl Iterator<Item = &RepositoryConfig> {
        self.configs.values()
    }

    /// How git is run.
    pub fn git_options(&self) -> &GitOptions {
        &self.options
    }

    /// The repository of a name.
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
    /// Opens a repository.
    pub fn open(
        config: RepositoryConfig,
        options: &GitOptions,
    ) -> Result<Repository, RepositoryError> {
        let layout = Layout::new(&config.branch, &config.directory)?;
        let store = GitStore::open(&config.location, options)?;
        Ok(Repository {
            config,
            layout,
            store,
        })
    }

    /// What the repository holds now.
    pub fn snapshot(&self) -> Result<Snapshot, GitError> {
        self.store.refresh()?;
        self.known_snapshot()
    }

    /// What the repository held when it was last asked.
    pub fn known_snapshot(&self) -> Result<Snapshot, GitError> {
        Snapshot::take(&self.store, &self.layout, &self.config.name)
    }

    /// The files of a revision.
    pub fn contents(&self, revision: &Revision) -> Result<Contents, ReadPackageError> {
        let contents = self
            .store
            .read_package(&revision.commit, &revision.directory)?;
        contents.ok_or_else(|| ReadPackageError::Damaged(revision.commit.to_string()))
    }

    /// Makes the branch of published packages, with Porch's first commit, unless it is there.
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
            author: &Identity::porch(),
            time: since.map_or(0, |since| since.as_secs()),
        })?;
        let change = RefChange {
            name: self.layout.branch.clone(),
            old: None,
            new: Some(commit),
        };
        Ok(self.store.publish(&[change], Atomicity::Required)?)
    }

    /// How revisions began, as the history behind them says.
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

    /// Who last changed the packages on a commit of the branch.
    pub fn changes(&self, head: &ObjectId) -> Result<Changes, GitError> {
        changes_on(&self.store, head)
    }

    /// The commits that belong to a revision, the newest first.
    pub fn log(&self, revision: &Revision) -> Result<Vec<LogEntry>, GitError> {
        let (directory, workspace) = (&revision.directory, &revision.name.workspace);
        log_of(&self.store, &revision.commit, directory, workspace)
    }

    /// By which others find a revision.
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

/// Where a package comes from, and the exact place. Addresses of other machines end in `.git`, as kpt writes them, and have
/// lost the credentials they came with; paths stay as they are.
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
