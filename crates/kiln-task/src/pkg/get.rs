//! Fetches a package and its remote sub-packages.

use kiln_go::quote;
use kiln_krm::kptfile::{FILE_NAME, Git, KptfileError, Upstream};

use super::PkgRules;
use super::event::PkgEvent;
use super::kptfile::{KptfileFields, merged, named, read, with_fields};
use super::origins::Origins;
use super::sources::{FetchError, FetchedPackage, PkgSources};
use super::subpackages::{SubpackageKind, direct_subpackages};
use crate::contents::{Contents, ContentsError, PackagePath};
use crate::image::SCHEME;
use crate::merge::{
    Attribution, FileSides, UpstreamFields, add_resource_marks, join_path, reencode,
};
use crate::task::Strategy;

/// What to fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GetRequest {
    pub source: GetSource,
    /// The name of the new package, that of its directory.
    pub name: String,
    /// The directory of the package in messages.
    pub shown: String,
    pub strategy: Strategy,
    pub attribution: Attribution,
}

/// Where a package comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GetSource {
    Git(Git),
    /// The reference of an image, without `oci://`.
    Image(String),
}

#[derive(Debug, thiserror::Error)]
pub enum GetError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Kptfile(#[from] KptfileError),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error("package {} includes itself: its upstream is that of a package around it", quote(.0))]
    IncludesItself(String),
}

/// The files of the new package.
pub fn get(sources: &mut PkgSources<'_>, request: &GetRequest) -> Result<Contents, GetError> {
    let mut contents = Contents::new();
    let mut count = 0;
    let mut origins = Origins::default();
    // The directories of packages to look at, the next one last.
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        if directory.is_empty() {
            count += 1;
            contents = root(sources, request)?;
            let kptfile = read(&contents, "", &request.shown)?;
            origins.add("", &kptfile.upstream_lock.unwrap_or_default());
        } else {
            let shown = join_path(&request.shown, &directory);
            let kptfile = read(&contents, &directory, &shown)?;
            if let (Some(upstream), None) = (&kptfile.upstream, &kptfile.upstream_lock) {
                count += 1;
                sources.event(PkgEvent::Package {
                    path: join_path(&request.name, &directory),
                    is_first: false,
                });
                let git = upstream.git.as_ref().ok_or(FetchError::NoGit)?;
                let fetched = fetch(sources, git)?;
                // It would be in itself again, and so on.
                if origins.add(&directory, &fetched.lock) > 0 {
                    let path = join_path(&request.name, &directory);
                    return Err(GetError::IncludesItself(path));
                }
                add_over(&mut contents, &directory, &shown, &fetched, sources.rules)?;
            }
        }
        let below = direct_subpackages(&contents, &directory, SubpackageKind::All);
        pending.extend(below.iter().map(|one| join_path(&directory, one)));
    }
    sources.event(PkgEvent::Fetched(count));
    mark_resources(&mut contents, request.attribution, sources.rules);
    Ok(contents)
}

/// Adds the marks by which an update recognises resources. kpt encodes all resources again.
pub(super) fn mark_resources(contents: &mut Contents, attribution: Attribution, rules: PkgRules) {
    match rules {
        PkgRules::Kiln => add_resource_marks(contents, attribution),
        // Files that cannot be read stay as they are.
        PkgRules::Kpt => drop(reencode(contents, attribution)),
    }
}

fn fetch(sources: &mut PkgSources<'_>, git: &Git) -> Result<FetchedPackage, FetchError> {
    sources.forget_repositories();
    let version = sources.version_of(&git.repo, &git.git_ref);
    sources.event(PkgEvent::Fetching(version));
    let fetched = sources.fetch_git(git)?;
    let directory = git.directory.strip_prefix('/').unwrap_or(&git.directory);
    sources.event(PkgEvent::AddingFetched(directory.to_owned()));
    Ok(fetched)
}

/// The package itself, with its name, upstream and lock.
fn root(sources: &mut PkgSources<'_>, request: &GetRequest) -> Result<Contents, GetError> {
    sources.event(PkgEvent::Package {
        path: request.name.clone(),
        is_first: true,
    });
    let strategy = request.strategy.as_str().to_owned();
    let (fetched, upstream) = match &request.source {
        GetSource::Git(git) => {
            let upstream = Upstream {
                kind: "git".to_owned(),
                git: Some(git.clone()),
                update_strategy: strategy,
            };
            sources.check_credentials(&git.repo);
            (fetch(sources, git)?, upstream)
        }
        GetSource::Image(image) => {
            sources.event(PkgEvent::Fetching(format!("{SCHEME}{image}")));
            let (fetched, upstream) = sources.fetch_image(image)?;
            let upstream = Upstream {
                update_strategy: strategy,
                ..upstream
            };
            (fetched, upstream)
        }
    };
    let fields = KptfileFields {
        name: Some(&request.name),
        upstream: Some(&upstream),
        lock: Some(&fetched.lock),
    };
    let present = fetched.contents.bytes(FILE_NAME);
    let text = match (sources.rules, present) {
        (PkgRules::Kiln, Some(present)) => present.to_vec(),
        (_, present) => {
            let own = named(&request.name);
            let sides = FileSides {
                local: Some(&own),
                origin: None,
                updated: present,
            };
            merge_at(FILE_NAME, &request.shown, sides, sources.rules)?
        }
    };
    let text = with_fields(&text, fields, sources.rules).map_err(|problem| KptfileError {
        path: request.shown.clone(),
        problem,
    })?;
    let mut contents = fetched.contents;
    contents.write(
        PackagePath::new(FILE_NAME).map_err(ContentsError::from)?,
        &text,
    )?;
    Ok(contents)
}

/// Copies a fetched package over a directory. Its Kptfile is merged, and keeps its own upstream.
pub(super) fn add_over(
    contents: &mut Contents,
    directory: &str,
    shown: &str,
    fetched: &FetchedPackage,
    rules: PkgRules,
) -> Result<(), GetError> {
    let kptfile_path = join_path(directory, FILE_NAME);
    let own = contents.bytes(&kptfile_path).map(<[u8]>::to_vec);
    let sides = FileSides {
        local: own.as_deref(),
        origin: None,
        updated: fetched.contents.bytes(FILE_NAME),
    };
    let text = merge_at(&kptfile_path, shown, sides, rules)?;
    let fields = KptfileFields {
        lock: Some(&fetched.lock),
        ..KptfileFields::default()
    };
    let text = with_fields(&text, fields, rules).map_err(|problem| KptfileError {
        path: shown.to_owned(),
        problem,
    })?;
    for (path, file) in fetched.contents.iter() {
        if path.as_str() != FILE_NAME {
            let path = PackagePath::new(join_path(directory, path.as_str()));
            contents.insert(path.map_err(ContentsError::from)?, file.clone())?;
        }
    }
    let path = PackagePath::new(kptfile_path).map_err(ContentsError::from)?;
    Ok(contents.write(path, &text)?)
}

fn merge_at(
    path: &str,
    shown: &str,
    sides: FileSides<'_>,
    rules: PkgRules,
) -> Result<Vec<u8>, KptfileError> {
    // Without an origin both sides have added everything, and upstream wins.
    let mut conflicts = Vec::new();
    let merged = merged(path, sides, UpstreamFields::Keep, rules, &mut conflicts);
    merged.map_err(|problem| KptfileError {
        path: shown.to_owned(),
        problem,
    })
}
