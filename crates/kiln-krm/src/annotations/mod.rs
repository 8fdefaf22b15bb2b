//! The annotations that readers, writers and calls of functions set on resources.
//!
//! Path, index and id exist in two families, an older one and an internal one, that must agree; [`prepare`] and
//! [`reconcile`] keep them so around a function. The other keys exist once.

mod families;
#[cfg(test)]
mod tests;

pub use crate::meta::{INDEX, LEGACY_INDEX, LEGACY_PATH, PACKAGE_PATH, PATH};
pub use families::{Families, FamilyError, Snapshot, follow_changes, mirror, prepare, reconcile};
pub(crate) use families::{has_families, mirror_document};

use crate::dialect::Dialect;

/// How the sequences of a resource's document are indented: `wide` or `compact`.
pub const SEQINDENT: &str = "internal.config.kubernetes.io/seqindent";
/// The number of a resource in a function's input, for restoring comments and field order.
pub const ID: &str = "internal.config.kubernetes.io/id";
/// The older spelling of [`ID`].
pub const LEGACY_ID: &str = "config.k8s.io/id";
/// The number of a resource while a selection is split off.
pub const RESOURCE_ID: &str = "internal.config.kubernetes.io/kpt-resource-id";
/// The number of a resource while the two families are synchronized around a function.
pub const MIGRATION_ID: &str = "internal.config.kubernetes.io/annotations-migration-resource-id";
/// Marks a resource that configures tools and is not applied to a cluster.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// The older command's declaration of a function.
pub const FUNCTION: &str = "config.kubernetes.io/function";
/// The older spelling of [`FUNCTION`].
pub const LEGACY_FUNCTION: &str = "config.k8s.io/function";
/// The oldest declaration of a function: its image.
pub const CONTAINER: &str = "config.kubernetes.io/container";

/// The value of [`SEQINDENT`] for indented sequences.
pub(crate) const WIDE: &str = "wide";
/// The value of [`SEQINDENT`] for sequences that are not indented.
pub(crate) const COMPACT: &str = "compact";

/// The keys that a reader sets and a writer of files removes.
pub(crate) fn reader_keys(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Current => &[INDEX, LEGACY_INDEX, SEQINDENT, PATH, LEGACY_PATH],
        Dialect::Legacy => &[LEGACY_INDEX, LEGACY_PATH],
    }
}

/// The keys that readers and calls of functions set, which are not in files.
pub const TRANSIENT: [&str; 10] = [
    INDEX,
    LEGACY_INDEX,
    PATH,
    LEGACY_PATH,
    PACKAGE_PATH,
    SEQINDENT,
    ID,
    LEGACY_ID,
    RESOURCE_ID,
    MIGRATION_ID,
];

/// Whether a key is about the file of a resource, not about the resource.
pub(crate) fn is_place(key: &str) -> bool {
    key == PACKAGE_PATH || reader_keys(Dialect::Current).contains(&key)
}
