//! Names of packages and revisions.
//!
//! A revision's name is `<repository>.<path of the package, with dots>.<workspace>`. It cannot be parsed, because workspaces may
//! contain dots; revisions are found by comparing full names.

mod rules;

use std::fmt;

use kiln_go::quote;

use rules::Complaints;
pub(crate) use rules::InvalidName;

/// A package by its repository and path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct PackageName {
    pub repository: String,
    /// The path of the package, relative to the repository's directory of packages.
    pub path: String,
}

/// A revision by its package and workspace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct RevisionName {
    pub package: PackageName,
    /// The workspace name, unique within the package.
    pub workspace: String,
}

impl PackageName {
    /// The package at a path. Leading and trailing slashes are ignored.
    pub fn new(repository: impl Into<String>, path: &str) -> PackageName {
        PackageName {
            repository: repository.into(),
            path: path.trim_matches('/').to_owned(),
        }
    }

    /// The last segment of the path.
    pub fn base(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The path without its last segment; empty if there is only one.
    pub fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    pub fn revision(&self, workspace: impl Into<String>) -> RevisionName {
        RevisionName {
            package: self.clone(),
            workspace: workspace.into(),
        }
    }

    /// Whether one of the packages is inside the other.
    pub fn is_nested_with(&self, other: &PackageName) -> bool {
        let is_below = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| outer.is_empty() || rest.starts_with('/'))
        };
        self.repository == other.repository
            && self.path != other.path
            && (is_below(&self.path, &other.path) || is_below(&other.path, &self.path))
    }
}

/// Checks the name of a repository, which is the first part of the names of its revisions.
pub fn check_repository_name(name: &str) -> Result<(), InvalidRepositoryName> {
    rules::label(name).map_err(|rule| InvalidRepositoryName {
        name: name.to_owned(),
        rule,
    })
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("repository name {name} invalid: {rule}")]
pub struct InvalidRepositoryName {
    name: String,
    rule: String,
}

impl RevisionName {
    /// Checks all parts and the full name against the rules of Kubernetes.
    pub fn check(&self) -> Result<(), InvalidName> {
        let mut complaints = Complaints::default();
        let (repository, package) = (&self.package.repository, self.package.base());
        let (path, workspace) = (self.package.parent(), &self.workspace);
        if let Err(rule) = rules::label(repository) {
            complaints.add(format!(
                "repository part {} of object name",
                quote(repository)
            ));
            complaints.add_rule("repository name", repository, &rule);
        }
        if let Err(rule) = rules::directory(path) {
            complaints.add(format!("package path part {} of object name", quote(path)));
            complaints.add_rule("path", path, &rule);
        }
        if let Err(rule) = rules::label(package) {
            complaints.add(format!(
                "package name part {} of object name",
                quote(package)
            ));
            complaints.add_rule("package name", package, &rule);
        }
        if let Err(rule) = rules::label(workspace) {
            let part = format!(
                "workspace name part {} of package revision name",
                quote(workspace)
            );
            complaints.add(part);
            complaints.add_rule("workspace name", workspace, &rule);
        }
        let whole = self.to_string();
        if complaints.is_empty()
            && let Err(rule) = rules::subdomain(&whole)
        {
            complaints.add(format!(
                "package revision kubernetes name {}",
                quote(&whole)
            ));
            complaints.add_rule("package revision kubernetes name", &whole, &rule);
        }
        complaints.into_result()
    }

    /// The repository in a full name.
    pub fn repository_of(name: &str) -> Option<&str> {
        let (repository, rest) = name.split_once('.')?;
        (!repository.is_empty() && !rest.is_empty()).then_some(repository)
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.repository, self.path.replace('/', "."))
    }
}

impl fmt::Display for RevisionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.package, self.workspace)
    }
}

#[cfg(test)]
mod tests;
