//! Tasks, as commit messages store them.
//!
//! The JSON equals Porch's byte for byte, so that either reads what the other wrote. Tasks of older versions of Porch are kept by
//! their names.

mod json;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use kiln_go::quote;

pub(crate) use json::to_go_json;

/// How a commit changed a package.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "json::StoredTask", from = "json::StoredTask")]
pub enum Task {
    Init(InitTask),
    Clone(CloneTask),
    Edit(EditTask),
    Upgrade(UpgradeTask),
    Render,
    Push,
    /// A task without a kind.
    Nothing,
    /// A task of an older version of Porch.
    Other(String),
}

/// Creates an empty package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InitTask {
    /// The directory of a subpackage to create.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subpackage: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "json::null_is_default"
    )]
    pub keywords: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub site: String,
}

/// Clones a package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CloneTask {
    #[serde(rename = "upstreamRef", default)]
    pub upstream: Upstream,
}

/// The upstream of a package: a registered revision, a directory of a git repository, or an image.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Upstream {
    /// `git`, `oci` or empty.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitUpstream>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciUpstream>,
    #[serde(
        rename = "upstreamRef",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub revision: Option<RevisionRef>,
}

/// A directory of a git repository.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GitUpstream {
    #[serde(default)]
    pub repo: String,
    /// A branch, tag or commit.
    #[serde(rename = "ref", default)]
    pub git_ref: String,
    #[serde(default)]
    pub directory: String,
    /// A Kubernetes secret with credentials. It is recorded for Porch and never used.
    #[serde(rename = "secretRef", default)]
    pub secret: SecretRef,
}

/// The name of a Kubernetes secret.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SecretRef {
    #[serde(default)]
    pub name: String,
}

/// An image that contains a package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OciUpstream {
    #[serde(default)]
    pub image: String,
}

/// The full name of a package revision.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RevisionRef {
    #[serde(default)]
    pub name: String,
}

/// Copies a revision of the same package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EditTask {
    #[serde(rename = "sourceRef", default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RevisionRef>,
}

/// Upgrades a package to another revision of its upstream.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UpgradeTask {
    /// The upstream revision that the package was made from.
    #[serde(rename = "oldUpstreamRef", default)]
    pub old_upstream: RevisionRef,
    #[serde(rename = "newUpstreamRef", default)]
    pub new_upstream: RevisionRef,
    /// The revision to upgrade.
    #[serde(rename = "localPackageRevisionRef", default)]
    pub local: RevisionRef,
    /// The merge strategy. Default: `resource-merge`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "json::known_strategy"
    )]
    pub strategy: Option<Strategy>,
}

/// The merge strategy of an upgrade.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Merges field by field.
    #[default]
    ResourceMerge,
    /// Takes the new upstream if nothing was changed locally.
    FastForward,
    /// Takes the new upstream.
    ForceDeleteReplace,
    /// Copies the files of the new upstream over the local ones.
    CopyMerge,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid strategy {}; must be one of: [resource-merge fast-forward force-delete-replace copy-merge]", quote(.0))]
pub struct UnknownStrategy(pub String);

impl Task {
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

    /// Whether it can be the first task of a revision.
    pub fn is_first(&self) -> bool {
        matches!(
            self,
            Task::Init(_) | Task::Clone(_) | Task::Edit(_) | Task::Upgrade(_)
        )
    }
}

impl Strategy {
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
