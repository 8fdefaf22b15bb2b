//! Packages in plain directories: what `kiln pkg` does.
//!
//! Everything is computed in memory: directories come in as a [`FileSource`](kiln_krm::package::FileSource) or as
//! [`Contents`](crate::Contents), and the result goes back to the caller, which writes it. [`PkgRules`] is the one switch between
//! kpt's exact files and texts and kiln's own.

mod address;
mod cat;
mod deployment;
mod diff;
mod event;
mod get;
mod kptfile;
mod origins;
mod package_tree;
mod resource_group;
mod sources;
mod starter;
mod subpackages;
mod update;

pub use address::{AddressError, PackageAddress};
pub use cat::{CatError, CatOptions, CatStyle, UnknownStyle, cat};
pub use deployment::{ContextError, set_deployment_context};
pub use diff::{DiffError, DiffSides, DiffType, UnknownDiffType, diff_sides};
pub use event::PkgEvent;
pub use get::{GetError, GetRequest, GetSource, get};
pub use package_tree::package_tree;
pub use resource_group::{ExistingInventory, InventoryError, NewInventory, resource_group};
pub use sources::{FetchError, PkgSources, RemoteKptfileError};
pub use starter::starter_files;
pub use update::{NewerVersion, UpdateError, UpdateRequest, Updated, newer_versions, update};

/// Whose files and texts are produced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PkgRules {
    /// kiln's own: comments, order and unchanged bytes are kept.
    #[default]
    Kiln,
    /// kpt's, to the byte: Kptfiles are written from their decoded form, and resources are encoded again.
    Kpt,
}
