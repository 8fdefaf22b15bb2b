//! Where the packages of one command come from: git repositories, each opened once, and images.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kiln_go::quote;
use kiln_krm::image::Version;
use kiln_krm::kptfile::{FILE_NAME, Git, GitLock, Kptfile, KptfileProblem, Locator, Upstream};

use super::PkgRules;
use super::address::{AddressError, PackageAddress};
use super::event::PkgEvent;
use crate::contents::{Contents, FileMode};
use crate::git::{
    GitOptions, ReadPackageError, UpstreamCache, UpstreamError, UpstreamRepository,
    without_credentials,
};
use crate::image::{ImageError, ImageLock, PackageImages, SCHEME, image_locks, newer_tags};

/// The sources of packages, and where events go.
pub struct PkgSources<'a> {
    pub git: GitOptions,
    pub cache: UpstreamCache,
    /// Reads images; created when the first one is read.
    pub images: &'a dyn Fn() -> Result<Arc<dyn PackageImages>, ImageError>,
    pub rules: PkgRules,
    pub on_event: &'a mut dyn FnMut(&PkgEvent),
    repositories: BTreeMap<String, UpstreamRepository>,
    /// What has been warned about.
    warnings: BTreeSet<String>,
}

/// A package as it is at its source.
pub(super) struct FetchedPackage {
    /// Without links.
    pub(super) contents: Contents,
    pub(super) lock: Locator,
}

/// Why a package cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error("path {} does not exist in repo {}", quote(directory), quote(repo))]
    NoDirectory {
        directory: String,
        repo: String,
        git_ref: String,
    },
    #[error("directory {} of the upstream leads out of the repository", quote(.0))]
    OutsideDirectory(String),
    #[error(transparent)]
    Read(#[from] ReadPackageError),
    #[error(transparent)]
    Kptfile(#[from] RemoteKptfileError),
    #[error("cannot read a package from image {image}")]
    Image {
        image: String,
        #[source]
        error: ImageError,
    },
    #[error("kptfile upstream doesn't have git information")]
    NoGit,
    #[error("must specify {0}")]
    Missing(&'static str),
}

/// The Kptfile of a fetched package is invalid. Displayed as kpt prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteKptfileError {
    /// The address of the package.
    pub path: String,
    pub problem: KptfileProblem,
}

impl std::fmt::Display for RemoteKptfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = quote(&self.path);
        match &self.problem {
            KptfileProblem::Deprecated(_) | KptfileProblem::UnknownType(_) => {
                let error = kiln_krm::kptfile::KptfileError {
                    path: self.path.clone(),
                    problem: self.problem.clone(),
                };
                f.write_str(&error.message())
            }
            problem => write!(
                f,
                "Kptfile at {path} can't be read.\n\nDetails:\nerror reading Kptfile from {path}: {problem}"
            ),
        }
    }
}

impl std::error::Error for RemoteKptfileError {}

impl<'a> PkgSources<'a> {
    pub fn new(
        git: GitOptions,
        cache: UpstreamCache,
        images: &'a dyn Fn() -> Result<Arc<dyn PackageImages>, ImageError>,
        rules: PkgRules,
        on_event: &'a mut dyn FnMut(&PkgEvent),
    ) -> PkgSources<'a> {
        PkgSources {
            git,
            cache,
            images,
            rules,
            on_event,
            repositories: BTreeMap::new(),
            warnings: BTreeSet::new(),
        }
    }

    /// Parses the address of a package, and asks the repository for its default branch if the address has no version.
    pub fn resolve_address(&mut self, text: &str) -> Result<Git, AddressError<FetchError>> {
        let address = PackageAddress::parse(text, |repo| {
            Ok::<_, FetchError>(self.repository(repo)?.branches())
        })?;
        let git_ref = match address.git_ref {
            Some(git_ref) => git_ref,
            None => self
                .default_branch(&address.repo)
                .map_err(AddressError::Branches)?,
        };
        Ok(Git {
            repo: address.repo,
            directory: address.directory,
            git_ref,
        })
    }

    pub(super) fn default_branch(&mut self, repo: &str) -> Result<String, FetchError> {
        Ok(self.repository(repo)?.default_branch()?)
    }

    pub(super) fn event(&mut self, event: PkgEvent) {
        (self.on_event)(&event);
    }

    /// A warning, which kpt repeats for each version that it reads.
    fn warn(&mut self, event: PkgEvent) {
        if self.rules == PkgRules::Kpt || self.warnings.insert(event.to_string()) {
            self.event(event);
        }
    }

    /// A version of a repository in messages. kpt prints passwords.
    pub(super) fn version_of(&self, repo: &str, git_ref: &str) -> String {
        match self.rules {
            PkgRules::Kiln => format!("{}@{git_ref}", without_credentials(repo)),
            PkgRules::Kpt => format!("{repo}@{git_ref}"),
        }
    }

    /// Warns if the address of a new upstream has credentials.
    pub(super) fn check_credentials(&mut self, repo: &str) {
        let shown = without_credentials(repo);
        if self.rules == PkgRules::Kiln && shown != repo {
            self.warn(PkgEvent::StoringCredentials(shown));
        }
    }

    /// Forgets the open repositories, as kpt does after each package: what was fetched before is fetched again.
    pub(super) fn forget_repositories(&mut self) {
        if self.rules == PkgRules::Kpt {
            self.repositories.clear();
        }
    }

    fn repository(&mut self, repo: &str) -> Result<&mut UpstreamRepository, UpstreamError> {
        if !self.repositories.contains_key(repo) {
            let opened = UpstreamRepository::open(repo, &self.cache, &self.git)?;
            self.repositories.insert(repo.to_owned(), opened);
        }
        // It was inserted above.
        self.repositories
            .get_mut(repo)
            .ok_or(UpstreamError::NoDefaultBranch)
    }

    /// Fetches a package by its upstream: from git, or from the image that the lock of the package names.
    pub(super) fn fetch_git(&mut self, git: &Git) -> Result<FetchedPackage, FetchError> {
        for (value, name) in [
            (&git.repo, "repo"),
            (&git.git_ref, "ref"),
            (&git.directory, "directory"),
        ] {
            if value.is_empty() {
                return Err(FetchError::Missing(name));
            }
        }
        let directory = git.directory.trim_matches('/').to_owned();
        if directory.split('/').any(|segment| segment == "..") {
            return Err(FetchError::OutsideDirectory(git.directory.clone()));
        }
        let mut talk = String::new();
        let is_own = self.rules == PkgRules::Kiln;
        let repository = self.repository(&git.repo)?;
        let git_ref = match git.git_ref.as_str() {
            "HEAD" if is_own => repository.default_branch()?,
            named => package_ref(repository, &directory, named),
        };
        let fetched = repository.fetch(&git_ref, &mut |bytes| {
            talk.push_str(&String::from_utf8_lossy(bytes));
        });
        if !talk.is_empty() {
            self.event(PkgEvent::GitOutput(talk));
        }
        let commit = fetched?;
        let mut submodules = Vec::new();
        let repository = self.repository(&git.repo)?;
        let read = repository.read(&commit, &directory, &mut submodules)?;
        let Some(mut contents) = read else {
            return Err(FetchError::NoDirectory {
                directory: git.directory.clone(),
                repo: git.repo.clone(),
                git_ref,
            });
        };
        if is_own {
            for path in submodules {
                self.warn(PkgEvent::IgnoringSubmodule(path));
            }
        }
        self.drop_links(&mut contents);
        let lock = GitLock {
            repo: git.repo.clone(),
            directory: git.directory.clone(),
            git_ref,
            commit,
        };
        check_kptfile(&contents, || repository_path(&lock))?;
        Ok(FetchedPackage {
            contents,
            lock: Locator {
                kind: "git".to_owned(),
                git: Some(lock),
                generic: None,
            },
        })
    }

    /// The versions above the tag that a fetched package has, the lowest first, as `pkg update` takes them.
    pub(super) fn newer_tags(&mut self, git: &Git, tag: &str) -> Result<Vec<String>, FetchError> {
        let tags = self.repository(&git.repo)?.tags_beside(tag);
        let tag = tag.strip_prefix("refs/tags/").unwrap_or(tag);
        // Tags of one package in a repository of many: `web/v1`.
        let (prefix, version) = tag.split_at(tag.rfind('/').map_or(0, |slash| slash + 1));
        let Ok(current) = Version::parse(version) else {
            return Ok(Vec::new());
        };
        let versions: Vec<String> = tags
            .iter()
            .filter_map(|other| other.strip_prefix(prefix))
            .map(str::to_owned)
            .collect();
        let newer = newer_tags(&current, &versions);
        // The prefix is found again unless the upstream names it.
        Ok(match git.git_ref == tag {
            true => newer.iter().map(|one| format!("{prefix}{one}")).collect(),
            false => newer,
        })
    }

    /// Reads a package from an image, and the upstream of a Kptfile for it.
    pub(super) fn fetch_image(
        &mut self,
        image: &str,
    ) -> Result<(FetchedPackage, Upstream), FetchError> {
        let image_error = |error| FetchError::Image {
            image: image.to_owned(),
            error,
        };
        let images = (self.images)().map_err(image_error)?;
        let read = images.read(image).map_err(image_error)?;
        let mut contents = read.contents;
        self.drop_links(&mut contents);
        check_kptfile(&contents, || format!("{SCHEME}{image}"))?;
        let (upstream, lock) = image_locks(image, &read.digest);
        Ok((FetchedPackage { contents, lock }, upstream))
    }

    /// The package that a lock names, exactly as it was.
    pub(super) fn fetch_locked(&mut self, lock: &Locator) -> Result<Contents, FetchError> {
        if let Some(image) = ImageLock::of(lock) {
            let exact = image.exact().map_err(|error| FetchError::Image {
                image: image.image.clone(),
                error,
            })?;
            return Ok(self.fetch_image(&exact)?.0.contents);
        }
        let lock = lock.git.as_ref().ok_or(FetchError::NoGit)?;
        let git = Git {
            repo: lock.repo.clone(),
            directory: lock.directory.clone(),
            git_ref: lock.commit.clone(),
        };
        Ok(self.fetch_git(&git)?.contents)
    }

    /// Removes symbolic links and files of git, which packages in directories do not have.
    fn drop_links(&mut self, contents: &mut Contents) {
        let is_git = |path: &str| path.split('/').any(|segment| segment.ends_with(".git"));
        let dropped: Vec<(String, FileMode)> = contents
            .iter()
            .filter(|(path, file)| file.mode == FileMode::Symlink || is_git(path.as_str()))
            .map(|(path, file)| (path.to_string(), file.mode))
            .collect();
        for (path, mode) in dropped {
            contents.remove(&path);
            if mode == FileMode::Symlink && !is_git(&path) {
                self.warn(PkgEvent::IgnoringLink(path));
            }
        }
    }
}

/// The tag of the package with this version, if there is one: `a/b/REF`, then `a/REF`.
fn package_ref(repository: &UpstreamRepository, directory: &str, git_ref: &str) -> String {
    let mut segments: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    while !segments.is_empty() {
        let tag = format!("{}/{git_ref}", segments.join("/"));
        if repository.has_tag(&tag) {
            return tag;
        }
        segments.pop();
    }
    git_ref.to_owned()
}

/// The address of a package in messages. kpt cleans it like a path.
fn repository_path(lock: &GitLock) -> String {
    let joined = format!("{}/{}", lock.repo, lock.directory.trim_start_matches('/'));
    let mut path = String::new();
    for c in joined.trim_end_matches('/').chars() {
        if c != '/' || !path.ends_with('/') {
            path.push(c);
        }
    }
    format!("{path}@{}", lock.git_ref)
}

fn check_kptfile(
    contents: &Contents,
    path: impl FnOnce() -> String,
) -> Result<(), RemoteKptfileError> {
    match contents.bytes(FILE_NAME).map(Kptfile::read) {
        Some(Err(problem)) => Err(RemoteKptfileError {
            path: path(),
            problem,
        }),
        Some(Ok(_)) | None => Ok(()),
    }
}
