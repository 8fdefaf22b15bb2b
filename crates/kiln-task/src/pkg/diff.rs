//! The sides of a difference between a package and its upstream.

use std::collections::BTreeSet;
use std::str::FromStr;

use kiln_krm::kptfile::{FILE_NAME, Git, Kptfile, KptfileError, Metadata};

use super::PkgRules;
use super::event::PkgEvent;
use super::kptfile::named;
use super::sources::{FetchError, FetchedPackage, PkgSources};
use super::subpackages::{below, is_remote, is_unfetched, outer_directories, replace_below};
use crate::contents::{Contents, ContentsError, PackagePath};
use crate::git::read_kptfile;
use crate::image::ImageLock;
use crate::merge::{Attribution, add_resource_marks, reencode_all};

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffType {
    /// The package with the upstream that it was made from.
    Local,
    /// That upstream with another version of it.
    Remote,
    /// The package with the other version.
    Combined,
    ThreeWay,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid diff-type '{0}': supported diff-types are: local, remote, combined, 3way")]
pub struct UnknownDiffType(String);

impl FromStr for DiffType {
    type Err = UnknownDiffType;

    fn from_str(text: &str) -> Result<DiffType, UnknownDiffType> {
        Ok(match text {
            "local" => DiffType::Local,
            "remote" => DiffType::Remote,
            "combined" => DiffType::Combined,
            "3way" => DiffType::ThreeWay,
            other => return Err(UnknownDiffType(other.to_owned())),
        })
    }
}

/// The contents to compare, each with the name of its directory.
pub type DiffSides = Vec<(String, Contents)>;

#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    #[error("package missing upstream in Kptfile at '{0}'")]
    NoUpstream(String),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Kptfile(#[from] KptfileError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
}

/// Fetches what is compared, in kpt's order. The Kptfiles of the packages themselves are left out.
pub fn diff_sides(
    sources: &mut PkgSources<'_>,
    local: &Contents,
    shown: &str,
    diff_type: DiffType,
    version: Option<&str>,
) -> Result<DiffSides, DiffError> {
    let kptfile = read_kptfile(local.bytes(FILE_NAME).unwrap_or_default());
    let mut fetch = DiffFetch {
        sources,
        kptfile,
        shown,
    };
    let old = fetch.old()?;
    let target_ref = match version {
        Some(version) => version.to_owned(),
        None => fetch.default_version()?,
    };
    let needs_target = diff_type != DiffType::Local;
    let target = match needs_target {
        true => Some(fetch.target(&target_ref)?),
        false => None,
    };
    let old_ref = fetch
        .git()
        .map(|git| git.git_ref.clone())
        .unwrap_or_default();
    let rules = fetch.sources.rules;
    let own = match rules {
        PkgRules::Kpt => without_remote(local),
        PkgRules::Kiln => local.clone(),
    };
    let own = (staging_name("local", &old_ref), own);
    let old = (staging_name("remote", &old_ref), old);
    let target = target.map(|target| (staging_name("target", &target_ref), target));
    let sides = match diff_type {
        DiffType::Local => vec![Some(own), Some(old)],
        DiffType::Remote => vec![Some(old), target],
        DiffType::Combined => vec![Some(own), target],
        DiffType::ThreeWay => vec![Some(own), Some(old), target],
    };
    let mut sides: DiffSides = sides.into_iter().flatten().collect();
    match rules {
        PkgRules::Kpt => reencode_all(sides.iter_mut().map(|(_, contents)| contents)),
        PkgRules::Kiln => {
            reduce_remote(&mut sides)?;
            for (_, contents) in &mut sides {
                add_resource_marks(contents, Attribution::Leave);
            }
        }
    }
    for (_, contents) in &mut sides {
        contents.remove(FILE_NAME);
    }
    Ok(sides)
}

/// The name of a side: its source and the last part of its version.
fn staging_name(source: &str, git_ref: &str) -> String {
    format!(
        "{source}-{}",
        git_ref.rsplit('/').next().unwrap_or_default()
    )
}

/// The files that kpt compares: all but those of sub-packages that have an upstream and are not inside of one that has none.
fn without_remote(local: &Contents) -> Contents {
    let mut kept = local.clone();
    let packages = subpackages(local);
    let own: BTreeSet<&String> = packages
        .iter()
        .filter(|one| !is_remote(local, one))
        .collect();
    for path in local.paths() {
        let outer = || outer_directories(path.as_str());
        let is_inside = outer().any(|one| packages.contains(one));
        if is_inside && !outer().any(|one| own.contains(&one.to_owned())) {
            kept.remove(path.as_str());
        }
    }
    kept
}

/// The directories of all sub-packages.
fn subpackages(contents: &Contents) -> BTreeSet<String> {
    let kptfiles = contents.paths().filter(|path| path.name() == FILE_NAME);
    let directories = kptfiles.map(|path| path.directory().to_owned());
    directories.filter(|one| !one.is_empty()).collect()
}

/// Leaves only the upstream of remote sub-packages, unless all sides have fetched them: `get` and `update` add the other files.
fn reduce_remote(sides: &mut DiffSides) -> Result<(), ContentsError> {
    let mut reduced_ones = BTreeSet::new();
    for (_, contents) in sides.iter() {
        let found = subpackages(contents).into_iter();
        reduced_ones.extend(found.filter(|one| is_remote(contents, one)));
    }
    let is_fetched = |contents: &Contents, one: &str| {
        is_remote(contents, one) && !is_unfetched(&below(contents, one))
    };
    reduced_ones.retain(|one| !sides.iter().all(|(_, contents)| is_fetched(contents, one)));
    for (_, contents) in sides {
        for directory in &reduced_ones {
            let package = below(contents, directory);
            let Some(kptfile) = package.bytes(FILE_NAME).map(read_kptfile) else {
                continue;
            };
            let mut reduced = Contents::new();
            let kptfile = Kptfile {
                api_version: kptfile.api_version,
                kind: kptfile.kind,
                metadata: Metadata {
                    name: kptfile.metadata.name,
                    ..Metadata::default()
                },
                upstream: kptfile.upstream,
                ..Kptfile::default()
            };
            let path = PackagePath::new(FILE_NAME).map_err(ContentsError::from)?;
            reduced.write(path, kptfile.to_struct_yaml().as_bytes())?;
            replace_below(contents, directory, &reduced)?;
        }
    }
    Ok(())
}

struct DiffFetch<'a, 'b> {
    sources: &'a mut PkgSources<'b>,
    kptfile: Kptfile,
    shown: &'a str,
}

impl DiffFetch<'_, '_> {
    fn git(&self) -> Option<&Git> {
        self.kptfile.upstream.as_ref()?.git.as_ref()
    }

    fn image(&self) -> Option<ImageLock> {
        ImageLock::of(self.kptfile.upstream_lock.as_ref()?)
    }

    /// The upstream that the package was made from: the locked one, or for kpt the version as it is now.
    fn old(&mut self) -> Result<Contents, DiffError> {
        let is_own = self.sources.rules == PkgRules::Kiln;
        let lock = self.kptfile.upstream_lock.clone();
        match (self.git().cloned(), lock) {
            (git, Some(lock)) if is_own && (git.is_some() || self.image().is_some()) => {
                Ok(self.sources.fetch_locked(&lock)?)
            }
            (Some(git), _) => self.fetch(&git),
            _ => Err(DiffError::NoUpstream(self.shown.to_owned())),
        }
    }

    /// The version to compare with if none is requested.
    fn default_version(&mut self) -> Result<String, DiffError> {
        let git = self.git().cloned();
        match (git, self.sources.rules) {
            (Some(git), PkgRules::Kpt) => Ok(self.sources.default_branch(&git.repo)?),
            (Some(git), PkgRules::Kiln) => Ok(git.git_ref),
            (None, _) => Ok(String::new()),
        }
    }

    fn target(&mut self, version: &str) -> Result<Contents, DiffError> {
        if let Some(git) = self.git().cloned() {
            let git_ref = version.to_owned();
            return self.fetch(&Git { git_ref, ..git });
        }
        let lock = self.image();
        let lock = lock.ok_or_else(|| DiffError::NoUpstream(self.shown.to_owned()))?;
        let image = match version {
            "" => lock.image.clone(),
            version => lock.other(version).map_err(|error| FetchError::Image {
                image: lock.image.clone(),
                error,
            })?,
        };
        Ok(self.sources.fetch_image(&image)?.0.contents)
    }

    fn fetch(&mut self, git: &Git) -> Result<Contents, DiffError> {
        self.sources.forget_repositories();
        let FetchedPackage { mut contents, .. } = self.sources.fetch_git(git)?;
        let directory = git.directory.trim_start_matches('/').to_owned();
        if self.sources.rules == PkgRules::Kpt {
            self.sources.event(PkgEvent::AddingFetched(directory));
        }
        if contents.get(FILE_NAME).is_none() {
            let path = PackagePath::new(FILE_NAME).map_err(ContentsError::from)?;
            contents.write(path, &named("upstream"))?;
        }
        Ok(contents)
    }
}
