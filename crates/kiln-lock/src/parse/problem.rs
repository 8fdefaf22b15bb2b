//! Why a lock file is refused.

use kiln_go::quote;

/// Why a lock file is refused as a whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct InvalidLock {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub problem: LockProblem,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockProblem {
    #[error("the lock file is not UTF-8")]
    NotUtf8,
    #[error("the lock file is empty")]
    Empty,
    /// git could not merge it.
    #[error("the lock file has a merge conflict")]
    Conflict,
    #[error("{0}")]
    Yaml(String),
    #[error(
        "version {} of the lock file is not supported; this kiln reads version 1",
        quote(_0)
    )]
    Version(String),
    #[error("{place} has no `{key}`")]
    Missing {
        key: &'static str,
        place: &'static str,
    },
    #[error("digest is not the one that `resolved` names: {named}")]
    OtherDigest { named: String },
    #[error("an entry has neither `digest` nor `native`")]
    NothingLocked,
    #[error("unknown key {} in {place}; the keys are {}", quote(key), known.join(", "))]
    UnknownKey {
        key: String,
        place: &'static str,
        known: &'static [&'static str],
    },
    #[error("{} occurs twice, first in line {first}", quote(key))]
    DuplicateKey { key: String, first: usize },
    #[error("the entry of {name} occurs twice, first in line {first}")]
    DuplicateEntry { name: String, first: usize },
    #[error("{field} must be {wanted}")]
    Wrong {
        field: &'static str,
        wanted: &'static str,
    },
    #[error("aliases are not supported")]
    Alias,
}
