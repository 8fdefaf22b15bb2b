//! Image references: their grammar, the short names of catalog functions, and the choice of a tag by version.
//!
//! Nothing here talks to a registry: lists of tags come from the caller.

mod constraint;
mod grammar;
mod normal;
mod prefix;
mod reference;
mod tag;
mod version;

pub use constraint::{Constraint, ConstraintError};
pub use normal::{InvalidReference, base_name, normalize};
pub use prefix::{DEFAULT_PREFIX, PrefixError, PrefixProblem, check_prefix, with_prefix};
pub use reference::{ImageRef, ReferenceError, has_tag_or_digest, with_digest};
pub use tag::{InvalidTag, NoMatchingTag, TagRequest, best_tag};
pub use version::{Version, VersionError};

#[cfg(test)]
mod tests;
