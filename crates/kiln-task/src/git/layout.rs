//! Porch's layout of a repository: which ref is which revision of which package.

use super::id::{InvalidRef, ObjectId, RefName};
use super::revision::{Revision, RevisionNumber};

const DRAFTS: &str = "drafts/";
const PROPOSED: &str = "proposed/";
const DELETION_PROPOSED: &str = "deletionProposed/";

/// Where the packages of a repository are, and the refs of their revisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepositoryLayout {
    /// The branch of published packages.
    pub branch: RefName,
    /// The directory of all packages, without leading and trailing slash; empty for the whole repository.
    pub directory: String,
}

/// The meaning of a ref: the package's directory relative to the root of the repository, and the last segment of the ref.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning<'a> {
    Branch,
    Draft(&'a str, &'a str),
    Proposed(&'a str, &'a str),
    Tag(&'a str, &'a str),
}

impl RepositoryLayout {
    pub fn new(branch: &str, directory: &str) -> Result<RepositoryLayout, InvalidRef> {
        Ok(RepositoryLayout {
            branch: RefName::branch(branch)?,
            directory: directory.trim_matches('/').to_owned(),
        })
    }

    /// The directory of a package relative to the root of the repository.
    pub fn full_path(&self, package: &str) -> String {
        match self.directory.as_str() {
            "" => package.to_owned(),
            directory => format!("{directory}/{package}"),
        }
    }

    /// The package at a directory of the repository; `None` if it is not below the directory of packages.
    pub fn package_at<'a>(&self, full_path: &'a str) -> Option<&'a str> {
        let path = match self.directory.as_str() {
            "" => full_path,
            directory => full_path.strip_prefix(directory)?.strip_prefix('/')?,
        };
        (!path.is_empty()).then_some(path)
    }

    pub fn draft(&self, package: &str, workspace: &str) -> Result<RefName, InvalidRef> {
        self.branch_of(DRAFTS, package, workspace)
    }

    /// The branch of a proposal.
    pub fn proposed(&self, package: &str, workspace: &str) -> Result<RefName, InvalidRef> {
        self.branch_of(PROPOSED, package, workspace)
    }

    /// The branch that marks a revision as proposed for deletion. It ends like the revision's tag or branch. Because that may
    /// contain slashes, this branch is looked up by name and never parsed.
    pub fn deletion_proposed(&self, revision: &Revision) -> Result<RefName, InvalidRef> {
        let last = match revision.number {
            RevisionNumber::Published(number) => format!("v{number}"),
            RevisionNumber::Placeholder => self.branch.short().to_owned(),
            RevisionNumber::Unnumbered | RevisionNumber::Unpublished => {
                revision.name.workspace.clone()
            }
        };
        self.branch_of(DELETION_PROPOSED, &revision.name.package.path, &last)
    }

    pub fn tag(&self, package: &str, number: u64) -> Result<RefName, InvalidRef> {
        RefName::tag(&format!("{}/v{number}", self.full_path(package)))
    }

    fn branch_of(&self, kind: &str, package: &str, last: &str) -> Result<RefName, InvalidRef> {
        RefName::branch(&format!("{kind}{}/{last}", self.full_path(package)))
    }

    /// The meaning of a ref; `None` if it is not about packages.
    pub(super) fn meaning<'a>(&self, name: &'a RefName) -> Option<Meaning<'a>> {
        if *name == self.branch {
            return Some(Meaning::Branch);
        }
        if let Some(tag) = name.as_tag() {
            let (package, revision) = tag.rsplit_once('/')?;
            return Some(Meaning::Tag(package, revision));
        }
        let branch = name.as_branch()?;
        let parts = |prefix: &str| branch.strip_prefix(prefix)?.rsplit_once('/');
        let draft = parts(DRAFTS).map(|(package, last)| Meaning::Draft(package, last));
        let proposed = || parts(PROPOSED).map(|(package, last)| Meaning::Proposed(package, last));
        draft.or_else(proposed)
    }
}

pub(crate) fn is_revision(name: &RefName) -> bool {
    let prefixes = [DRAFTS, PROPOSED, DELETION_PROPOSED];
    let branch = name.as_branch().unwrap_or_default();
    prefixes.iter().any(|prefix| branch.starts_with(prefix))
}

/// The number in the last segment of a tag: `v3` or `3`.
pub(super) fn number_of(revision: &str) -> Option<u64> {
    let digits = revision.strip_prefix('v').unwrap_or(revision);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Git's name of a file in a commit: `COMMIT:PATH`.
pub(super) fn file_in(commit: &ObjectId, directory: &str, file: &str) -> String {
    match directory {
        "" => format!("{commit}:{file}"),
        directory => format!("{commit}:{directory}/{file}"),
    }
}
