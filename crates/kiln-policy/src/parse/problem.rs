//! Why a policy file is refused.

use kiln_go::quote;

use crate::scope::ScopeError;

/// Why a policy file is refused as a whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct InvalidPolicy {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub problem: PolicyProblem,
}

/// What is wrong, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PolicyProblem {
    #[error("the policy is not UTF-8")]
    NotUtf8,
    #[error("the policy is empty; write at least `version: 1` and `default: allow`")]
    Empty,
    #[error("{0}")]
    Yaml(String),
    #[error("version {} is not supported; write `version: 1`", quote(_0))]
    Version(String),
    #[error("{place} has no `{key}`; add it")]
    Missing {
        key: &'static str,
        place: &'static str,
    },
    #[error("unknown key {} in {place}; the keys are {}", quote(key), known.join(", "))]
    UnknownKey {
        key: String,
        place: &'static str,
        known: &'static [&'static str],
    },
    #[error("{} occurs twice, first in line {first}; remove one", quote(key))]
    Duplicate { key: String, first: usize },
    #[error(
        "the rule for {} occurs twice, first in line {first}; merge them",
        quote(rule)
    )]
    DuplicateRule { rule: String, first: usize },
    #[error("{field} must be {wanted}")]
    Wrong {
        field: &'static str,
        wanted: &'static str,
    },
    #[error("match {}: {reason}", quote(rule))]
    Match { rule: String, reason: ScopeError },
    #[error("aliases are not supported; write the value itself")]
    Alias,
    #[error(
        "`identity` is not supported: keyless signatures cannot be verified, and nothing may run unverified; \
         write `signature: {{key: FILE}}`, or use `digest`"
    )]
    Keyless,
    #[error("{0}")]
    KeyFile(String),
}
