//! The lifecycle of package revisions.

use std::fmt;
use std::str::FromStr;

use kiln_go::quote;

/// How far a revision has come, with the values of Porch's API.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Lifecycle {
    Draft,
    Proposed,
    /// Approved. Its contents do not change any more.
    Published,
    /// Published, and proposed for deletion.
    DeletionProposed,
}

impl Lifecycle {
    pub fn as_str(self) -> &'static str {
        match self {
            Lifecycle::Draft => "Draft",
            Lifecycle::Proposed => "Proposed",
            Lifecycle::Published => "Published",
            Lifecycle::DeletionProposed => "DeletionProposed",
        }
    }

    /// Whether it has been approved, even if it is proposed for deletion.
    pub fn is_published(self) -> bool {
        matches!(self, Lifecycle::Published | Lifecycle::DeletionProposed)
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid new lifecycle value: {}", quote(.0))]
pub struct UnknownLifecycle(pub String);

impl FromStr for Lifecycle {
    type Err = UnknownLifecycle;

    fn from_str(text: &str) -> Result<Lifecycle, UnknownLifecycle> {
        match text {
            "Draft" => Ok(Lifecycle::Draft),
            "Proposed" => Ok(Lifecycle::Proposed),
            "Published" => Ok(Lifecycle::Published),
            "DeletionProposed" => Ok(Lifecycle::DeletionProposed),
            _ => Err(UnknownLifecycle(text.to_owned())),
        }
    }
}
