//! Updates a package in a directory, and its remote sub-packages, to another version of their upstreams.

mod like_kpt;
mod newer;
mod packages;

use kiln_go::quote;
use kiln_krm::kptfile::{FILE_NAME, Git, Kptfile, KptfileError, Locator, Upstream};

use super::PkgRules;
use super::event::PkgEvent;
use super::get::mark_resources;
use super::kptfile::{KptfileFields, read, with_fields};
use super::origins::Origins;
use super::sources::{FetchError, FetchedPackage, PkgSources};
use super::subpackages::updated_subpackages;
use crate::contents::{Contents, ContentsError, PackagePath};
use crate::image::{ImageLock, SCHEME};
use crate::merge::{Attribution, Conflict, MergeError, join_path};
use crate::task::Strategy;

pub use newer::{NewerVersion, newer_versions};

/// What to update to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateRequest {
    /// The new version; `None` for the one in the Kptfile.
    pub version: Option<String>,
    /// The new strategy; `None` for the one in the Kptfile.
    pub strategy: Option<String>,
    /// The name of the package in messages.
    pub name: String,
    /// Its directory in messages.
    pub shown: String,
}

/// The updated package.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Updated {
    pub contents: Contents,
    /// Changes of both sides, by file.
    pub conflicts: Vec<Conflict>,
}

#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    #[error("package must have an upstream reference")]
    NoUpstream,
    #[error("unrecognized update strategy {0}")]
    Strategy(String),
    #[error("no origin available for package")]
    NoOrigin,
    /// Only with kpt's rules.
    #[error("remove {0}: directory not empty")]
    NotEmpty(String),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Kptfile(#[from] KptfileError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error("package {} includes itself: its upstream is that of packages around it", quote(.0))]
    IncludesItself(String),
}

/// Updates a package. Returns the files after it, and on failure, for kpt's rules, the files at that moment.
pub fn update(
    sources: &mut PkgSources<'_>,
    local: Contents,
    request: &UpdateRequest,
) -> (Updated, Result<(), UpdateError>) {
    let mut update = Update {
        sources,
        request,
        origins: Origins::default(),
        updated: Updated {
            contents: local,
            conflicts: Vec::new(),
        },
    };
    let done = update.run();
    (update.updated, done)
}

struct Update<'a, 'b> {
    sources: &'a mut PkgSources<'b>,
    request: &'a UpdateRequest,
    origins: Origins,
    updated: Updated,
}

/// The new and the old state of a package at its source.
struct UpstreamVersions {
    new: FetchedPackage,
    /// The upstream for the Kptfile, if it is not that of git.
    image: Option<Upstream>,
    old: Contents,
}

impl Update<'_, '_> {
    fn run(&mut self) -> Result<(), UpdateError> {
        let root = self.kptfile("")?;
        let old_root = root_upstream(&root, self.sources.rules)?;
        let new_upstream = self.requested(root.upstream.clone().unwrap_or_default());
        self.set(
            "",
            KptfileFields {
                upstream: Some(&new_upstream),
                ..KptfileFields::default()
            },
        )?;
        let mut count = 0;
        // The directories of packages to update, the next one last.
        let mut pending = vec![String::new()];
        while let Some(directory) = pending.pop() {
            count += 1;
            self.package(&directory)?;
            let rules = self.sources.rules;
            for inner in updated_subpackages(&self.updated.contents, &directory, rules) {
                let inner = join_path(&directory, &inner);
                let kptfile = self.kptfile(&inner)?;
                if let (Some(upstream), Some(old_root)) = (&kptfile.upstream, &old_root)
                    && follows(upstream, old_root, self.sources.rules)
                {
                    let new = self.requested(upstream.clone());
                    self.set(
                        &inner,
                        KptfileFields {
                            upstream: Some(&new),
                            ..KptfileFields::default()
                        },
                    )?;
                }
                pending.push(inner);
            }
        }
        self.sources.event(PkgEvent::Updated(count));
        let rules = self.sources.rules;
        mark_resources(&mut self.updated.contents, Attribution::Leave, rules);
        Ok(())
    }

    /// An upstream with the requested version and strategy.
    fn requested(&self, mut upstream: Upstream) -> Upstream {
        if let (Some(version), Some(git)) = (&self.request.version, &mut upstream.git) {
            version.clone_into(&mut git.git_ref);
        }
        if let Some(strategy) = &self.request.strategy {
            strategy.clone_into(&mut upstream.update_strategy);
        }
        upstream
    }

    fn kptfile(&self, directory: &str) -> Result<Kptfile, KptfileError> {
        read(&self.updated.contents, directory, &self.shown(directory))
    }

    fn shown(&self, directory: &str) -> String {
        join_path(&self.request.shown, directory)
    }

    /// Sets fields of the Kptfile of a package.
    fn set(&mut self, directory: &str, fields: KptfileFields<'_>) -> Result<(), UpdateError> {
        let path = join_path(directory, FILE_NAME);
        let present = self.updated.contents.bytes(&path).unwrap_or_default();
        let text = with_fields(present, fields, self.sources.rules);
        let text = text.map_err(|problem| KptfileError {
            path: self.shown(directory),
            problem,
        })?;
        let path = PackagePath::new(path).map_err(ContentsError::from)?;
        Ok(self.updated.contents.write(path, &text)?)
    }

    /// Updates one package that has an upstream.
    fn package(&mut self, directory: &str) -> Result<(), UpdateError> {
        let kptfile = self.kptfile(directory)?;
        self.sources.event(PkgEvent::Package {
            path: join_path(&self.request.name, directory),
            is_first: directory.is_empty(),
        });
        let versions = self.fetch(directory, &kptfile)?;
        // The user may have put a package into itself once; an upstream that does has no end.
        if self.origins.add(directory, &versions.new.lock) > 1 {
            let path = join_path(&self.request.name, directory);
            return Err(UpdateError::IncludesItself(path));
        }
        self.merge_all(directory, &versions)?;
        let own = kptfile.upstream.clone().unwrap_or_default();
        let upstream = match (self.sources.rules, &versions.image) {
            (PkgRules::Kpt, _) => None,
            // The strategies that replace the package would take the upstream of the upstream.
            (PkgRules::Kiln, None) => Some(own),
            (PkgRules::Kiln, Some(image)) => Some(Upstream {
                update_strategy: own.update_strategy,
                ..image.clone()
            }),
        };
        self.set(
            directory,
            KptfileFields {
                upstream: upstream.as_ref(),
                lock: Some(&versions.new.lock),
                ..KptfileFields::default()
            },
        )
    }

    fn fetch(
        &mut self,
        directory: &str,
        kptfile: &Kptfile,
    ) -> Result<UpstreamVersions, UpdateError> {
        let upstream = kptfile
            .upstream
            .as_ref()
            .and_then(|upstream| upstream.git.clone());
        let (new, image, named) = match (
            upstream,
            kptfile.upstream_lock.as_ref().and_then(ImageLock::of),
        ) {
            (Some(git), _) => {
                let source = self.sources.version_of(&git.repo, &git.git_ref);
                self.sources.event(PkgEvent::FetchingUpstream(source));
                (self.sources.fetch_git(&git)?, None, Some(git))
            }
            (None, Some(lock)) => {
                let image = self.target_image(directory, &lock)?;
                let source = format!("{SCHEME}{image}");
                self.sources.event(PkgEvent::FetchingUpstream(source));
                let (new, upstream) = self.sources.fetch_image(&image)?;
                (new, Some(upstream), None)
            }
            (None, None) => return Err(FetchError::NoGit.into()),
        };
        let old = match &kptfile.upstream_lock {
            Some(lock) => self.fetch_origin(lock, named.as_ref())?,
            None => Contents::new(),
        };
        Ok(UpstreamVersions { new, image, old })
    }

    /// The image to update to: of the requested version, or what the same reference means now.
    fn target_image(&self, directory: &str, lock: &ImageLock) -> Result<String, UpdateError> {
        match (&self.request.version, directory) {
            (Some(version), "") => lock.other(version).map_err(|error| {
                let image = lock.image.clone();
                FetchError::Image { image, error }.into()
            }),
            _ => Ok(lock.image.clone()),
        }
    }

    /// The locked version. `named` is the new upstream, if it is in git.
    fn fetch_origin(
        &mut self,
        lock: &Locator,
        named: Option<&Git>,
    ) -> Result<Contents, FetchError> {
        let source = match (self.sources.rules, named, &lock.git, ImageLock::of(lock)) {
            // kpt's text names the new version, although the locked one is fetched.
            (PkgRules::Kpt, Some(git), _, _) => self.sources.version_of(&git.repo, &git.git_ref),
            (_, _, Some(git), _) => self.sources.version_of(&git.repo, &git.git_ref),
            (_, _, None, Some(image)) => {
                let exact = image.exact().unwrap_or(image.image);
                format!("{SCHEME}{exact}")
            }
            (_, _, None, None) => return Err(FetchError::NoGit),
        };
        self.sources.event(PkgEvent::FetchingOrigin(source));
        self.sources.fetch_locked(lock)
    }
}

/// The upstream of the package itself before the update; `None` for one that is not in git.
fn root_upstream(root: &Kptfile, rules: PkgRules) -> Result<Option<Git>, UpdateError> {
    let git = root
        .upstream
        .as_ref()
        .and_then(|upstream| upstream.git.clone());
    let has_image = root
        .upstream_lock
        .as_ref()
        .and_then(ImageLock::of)
        .is_some();
    match (git, rules) {
        (Some(git), _) => Ok(Some(git)),
        (None, PkgRules::Kiln) if has_image => Ok(None),
        (None, _) => Err(UpdateError::NoUpstream),
    }
}

/// Whether a sub-package comes from the same repository and version as the package itself, and follows it to the new version. kpt
/// compares directories as strings, so that `/web2` counts as below `/web`.
fn follows(upstream: &Upstream, root: &Git, rules: PkgRules) -> bool {
    let Some(git) = &upstream.git else {
        return false;
    };
    let (inner, outer) = (
        git.directory.trim_matches('/'),
        root.directory.trim_matches('/'),
    );
    let is_below = match inner.strip_prefix(outer) {
        Some(rest) => {
            rules == PkgRules::Kpt || outer.is_empty() || rest.is_empty() || rest.starts_with('/')
        }
        None => false,
    };
    git.repo == root.repo && git.git_ref == root.git_ref && is_below
}

/// The strategy that a Kptfile names; the default if it names none.
fn strategy_of(kptfile: &Kptfile, rules: PkgRules) -> Result<Strategy, String> {
    let named = kptfile
        .upstream
        .as_ref()
        .map(|upstream| upstream.update_strategy.as_str());
    match (named.unwrap_or_default(), rules) {
        ("", PkgRules::Kiln) => Ok(Strategy::default()),
        (named, _) => named.parse().map_err(|_| named.to_owned()),
    }
}
