//! Package revisions in a git repository, laid out as Porch does it.

mod annotation;

pub use annotation::{Annotation, approval_message, change_message, deletion_message};
