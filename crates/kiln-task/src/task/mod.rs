//! What a package revision began with, as it is written into commits.
//!
//! The JSON is Porch's to the byte, so that either reads what the other wrote. Tasks that only Porch's older versions knew are
//! kept by their names.

mod json;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use kiln_krm::gotext::quote;

pub(crate) use json::to_go_json;

/// What was done to a package revision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "json::StoredTask", from = "json::StoredTask")]
pub enum Task {
    /// A new package was made.
    Init(InitTask),
    /// A package was copied from elsewhere.
    Clone(CloneTask),
    /// A revision of the same package was copied.
    Edit(EditTask),
    /// A package was brought to another revision of its upstream.
    Upgrade(UpgradeTask),
    /// The functions of the package ran.
    Render,
    /// The resources were replaced.
    Push,
    /// Nothing that has a name.
    Nothing,
    /// Something that is no longer done.
    Other(String),
}

/// Making a new package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InitTask {
    /// A directory in the package that is to become one itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subpackage: String,
    /// What the package is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to search by.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "json::null_is_default"
    )]
    pub keywords: Vec<String>,
    /// A web page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub site: String,
}

/// Copying a package from elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CloneTask {
    /// Where it comes from.
    #[serde(rename = "upstreamRef", default)]
    pub upstream: Upstream,
}

/// Where a package comes from: a registered revision, a place in a git repository, or an image, whichever is given first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Upstream {
    /// `git`, `oci` or nothing.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// A place in a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitUpstream>,
    /// An image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciUpstream>,
    /// A revision of a registered repository.
    #[serde(
        rename = "upstreamRef",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub revision: Option<RevisionRef>,
}

/// A place in a git repository.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GitUpstream {
    /// The repository's address.
    #[serde(default)]
    pub repo: String,
    /// A branch, tag or commit.
    #[serde(rename = "ref", default)]
    pub git_ref: String,
    /// The directory in it.
    #[serde(default)]
    pub directory: String,
    /// A secret of the cluster with credentials. It is kept for Porch and never used.
    #[serde(rename = "secretRef", default)]
    pub secret: SecretRef,
}

/// The name of a secret.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SecretRef {
    /// The name.
    #[serde(default)]
    pub name: String,
}

/// A package in an image.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OciUpstream {
    /// The image.
    #[serde(default)]
    pub image: String,
}

/// A package revision by its whole name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RevisionRef {
    /// The name.
    #[serde(default)]
    pub name: String,
}

/// Copying a revision of the same package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EditTask {
    /// The revision that is copied.
    #[serde(rename = "sourceRef", default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RevisionRef>,
}

/// Bringing a package to another revision of its upstream.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UpgradeTask {
    /// The revision of the upstream that the package came from.
    #[serde(rename = "oldUpstreamRef", default)]
    pub old_upstream: RevisionRef,
    /// The one it is brought to.
    #[serde(rename = "newUpstreamRef", default)]
    pub new_upstream: RevisionRef,
    /// The package's own revision.
    #[serde(rename = "localPackageRevisionRef", default)]
    pub local: RevisionRef,
    /// How they are put together; none means the usual way.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "json::known_strategy"
    )]
    pub strategy: Option<Strategy>,
}

/// How a package is brought to another revision of its upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Field by field.
    #[default]
    ResourceMerge,
    /// Only if nothing was changed locally.
    FastForward,
    /// The new upstream alone.
    ForceDeleteReplace,
    /// The files of the new upstream over the local ones.
    CopyMerge,
}

/// A word that names no strategy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid strategy {}; must be one of: [resource-merge fast-forward force-delete-replace copy-merge]", quote(.0))]
pub struct UnknownStrategy(pub String);

impl Task {
    /// The name of the kind of task.
    pub fn kind(&self) -> &str {
        match self {
            Task::Init(_) => "init",
            Task::Clone(_) => "clone",
            Task::Edit(_) => "edit",
            Task::Upgrade(_) => "upgrade",
            Task::Render => "render",
            Task::Push => "push",
            Task::Nothing => "",
            Task::Other(kind) => kind,
        }
    }

    /// Whether a revision can begin with it. Only such tasks are remembered.
    pub fn is_first(&self) -> bool {
        matches!(
            self,
            Task::Init(_) | Task::Clone(_) | Task::Edit(_) | Task::Upgrade(_)
        )
    }
}

impl Strategy {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::ResourceMerge => "resource-merge",
            Strategy::FastForward => "fast-forward",
            Strategy::ForceDeleteReplace => "force-delete-replace",
            Strategy::CopyMerge => "copy-merge",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Strategy, UnknownStrategy> {
        let all = [
            Strategy::ResourceMerge,
            Strategy::FastForward,
            Strategy::ForceDeleteReplace,
            Strategy::CopyMerge,
        ];
        let found = all.into_iter().find(|strategy| strategy.as_str() == text);
        found.ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
