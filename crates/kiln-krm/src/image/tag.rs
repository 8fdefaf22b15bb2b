//! The `tag` of a function: an exact version, a constraint on versions, or any other tag.

use kiln_go::quote;

use super::constraint::{Constraint, ConstraintError};
use super::grammar::is_tag;
use super::version::{Version, VersionError};

/// A function's `tag`.
#[derive(Clone, Debug)]
pub enum TagRequest {
    /// This very tag, which is a version.
    Exact(String),
    /// The highest of the tags that satisfy a constraint.
    Constraint(Constraint),
    /// This very tag, which is neither a version nor a constraint; kpt warns of it.
    Literal {
        tag: String,
        /// Why it is not a version.
        version_error: VersionError,
        /// Why it is not a constraint.
        constraint_error: ConstraintError,
    },
}

/// A tag is not one that registries accept.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`function.tag` {} must be a valid image tag: must start with an alphanumeric character or underscore, followed by at most 127 alphanumeric characters, underscores, periods, or dashes",
    quote(.0)
)]
pub struct InvalidTag(pub String);

/// No tag of a list satisfies a constraint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no tag could be found matching the version constraint {}", quote(.0))]
pub struct NoMatchingTag(pub String);

impl TagRequest {
    /// Reads a function's `tag`.
    pub fn parse(tag: &str) -> Result<TagRequest, InvalidTag> {
        let version_error = match Version::parse(tag) {
            Ok(_) => return literal(tag).map(TagRequest::Exact),
            Err(error) => error,
        };
        let constraint_error = match Constraint::parse(tag) {
            Ok(constraint) => return Ok(TagRequest::Constraint(constraint)),
            Err(error) => error,
        };
        Ok(TagRequest::Literal {
            tag: literal(tag)?,
            version_error,
            constraint_error,
        })
    }

    /// The warning about a tag that is used literally.
    pub fn warning(&self) -> Option<String> {
        match self {
            TagRequest::Exact(_) | TagRequest::Constraint(_) => None,
            TagRequest::Literal {
                tag,
                version_error,
                constraint_error,
            } => Some(format!(
                "Tag {} could not be parsed as a semantic version (\"{version_error}\") or constraint (\"{constraint_error}\"), will use it literally",
                quote(tag)
            )),
        }
    }
}

fn literal(tag: &str) -> Result<String, InvalidTag> {
    if is_tag(tag) {
        Ok(tag.to_owned())
    } else {
        Err(InvalidTag(tag.to_owned()))
    }
}

/// The highest tag that satisfies the constraint, as it is spelled in the list; of equal ones the first.
///
/// Tags that look like digests (`sha256-…`) or builds of a commit (`…-git-…`) are skipped.
pub fn best_tag<'a>(
    constraint: &Constraint,
    tags: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let mut best: Option<(Version, &str)> = None;
    for tag in tags {
        if tag.starts_with("sha256-") || tag.contains("-git-") {
            continue;
        }
        let Ok(version) = Version::parse(tag) else {
            continue;
        };
        let is_higher = best
            .as_ref()
            .is_none_or(|(highest, _)| version.precedence(highest).is_gt());
        if is_higher && constraint.matches(&version) {
            best = Some((version, tag));
        }
    }
    best.map(|(_, tag)| tag)
}
