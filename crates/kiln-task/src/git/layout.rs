//! Which ref is which revision of which package, as Porch has it.

use super::id::{InvalidRef, ObjectId, RefName};
use super::revision::{Number, Revision};

const DRAFTS: &str = "drafts/";
const PROPOSED: &str = "proposed/";
const DELETION_PROPOSED: &str = "deletionProposed/";

/// Where packages are in a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The branch of published packages.
    pub branch: RefName,
    /// The directory that packages are in, without slashes around it; empty for the whole repository.
    pub directory: String,
}

/// What a ref stands for. Packages are given by their path from the root of the repository, revisions by the last segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning<'a> {
    Branch,
    Draft(&'a str, &'a str),
    Proposed(&'a str, &'a str),
    Tag(&'a str, &'a str),
}

impl Layout {
    /// Packages in a directory of a branch.
    pub fn new(branch: &str, directory: &str) -> Result<Layout, InvalidRef> {
        Ok(Layout {
            branch: RefName::branch(branch)?,
            directory: directory.trim_matches('/').to_owned(),
        })
    }

    /// The path of a package from the root of the repository.
    pub fn full_path(&self, package: &str) -> String {
        match self.directory.as_str() {
            "" => package.to_owned(),
            directory => format!("{directory}/{package}"),
        }
    }

    /// The path of a package from the directory; none if it is not in there, or the directory itself.
    pub fn package_at<'a>(&self, full_path: &'a str) -> Option<&'a str> {
        let path = match self.directory.as_str() {
            "" => full_path,
            directory => full_path.strip_prefix(directory)?.strip_prefix('/')?,
        };
        (!path.is_empty()).then_some(path)
    }

    /// The branch of a draft.
    pub fn draft(&self, package: &str, workspace: &str) -> Result<RefName, InvalidRef> {
        self.branch_of(DRAFTS, package, workspace)
    }

    /// The branch of what waits for approval.
    pub fn proposed(&self, package: &str, workspace: &str) -> Result<RefName, InvalidRef> {
        self.branch_of(PROPOSED, package, workspace)
    }

    /// The branch that says that a revision is to go. Its name ends in what the tag ends in, or in that of the branch, which
    /// may have slashes: it is looked for and not taken apart.
    pub fn deletion_proposed(&self, revision: &Revision) -> Result<RefName, InvalidRef> {
        let last = match revision.number {
            Number::Published(number) => format!("v{number}"),
            Number::Placeholder => self.branch.short().to_owned(),
            Number::Unnumbered | Number::Unpublished => revision.name.workspace.clone(),
        };
        self.branch_of(DELETION_PROPOSED, &revision.name.package.path, &last)
    }

    /// The tag of a published revision.
    pub fn tag(&self, package: &str, number: u64) -> Result<RefName, InvalidRef> {
        RefName::tag(&format!("{}/v{number}", self.full_path(package)))
    }

    fn branch_of(&self, kind: &str, package: &str, last: &str) -> Result<RefName, InvalidRef> {
        RefName::branch(&format!("{kind}{}/{last}", self.full_path(package)))
    }

    /// What a ref stands for; none if it has nothing to do with packages.
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

/// Whether a branch is that of a revision.
pub(crate) fn is_revision(name: &RefName) -> bool {
    let prefixes = [DRAFTS, PROPOSED, DELETION_PROPOSED];
    let branch = name.as_branch().unwrap_or_default();
    prefixes.iter().any(|prefix| branch.starts_with(prefix))
}

/// The number that the last segment of a tag has: `v3` or `3`.
pub(super) fn number_of(revision: &str) -> Option<u64> {
    let digits = revision.strip_prefix('v').unwrap_or(revision);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The name of a commit and the file in it, as git is asked for them.
pub(super) fn file_in(commit: &ObjectId, directory: &str, file: &str) -> String {
    match directory {
        "" => format!("{commit}:{file}"),
        directory => format!("{commit}:{directory}/{file}"),
    }
}
