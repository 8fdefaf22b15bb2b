//! The Kptfile: the description of a package, its functions, and the status of the last render.
//!
//! [`Kptfile`] is the decoded form. Decoding is as strict as kpt's, with its messages; writing it
//! ([`Kptfile::to_struct_yaml`]) loses comments as kpt does. Edits that keep comments work on the tree instead
//! ([`edit`]), and [`crate::EditableText`] puts them into the text.

pub mod alpha;
pub mod change;
pub mod edit;
mod error;
mod former;
mod read;
mod schema;
mod tree;
mod validate;

pub use error::{KptfileError, KptfileProblem};
pub use former::{
    FormerFunction, FormerInfo, FormerKptfile, FormerLock, FormerMetadata, FormerPipeline,
};
pub use schema::{
    Condition, Function, GenericLock, Git, GitLock, Inventory, Kptfile, Locator, Metadata,
    PackageInfo, Pipeline, ReadinessGate, RenderStatus, Selector, Status, Step, Upstream,
};
pub use validate::{
    FunctionKind, InvalidFunctionConfig, InvalidPipeline, OpenConfigError, PipelineProblem,
    check_function_config,
};

/// The name of the file.
pub const FILE_NAME: &str = "Kptfile";
/// The supported `apiVersion`.
pub const API_VERSION: &str = "kpt.dev/v1";
/// The `kind`.
pub const KIND: &str = "Kptfile";

/// Annotation of the root package: render breadth-first.
pub const BFS_RENDERING: &str = "kpt.dev/bfs-rendering";
/// Annotation of the root package: write the resources even if a render fails.
pub const SAVE_ON_RENDER_FAILURE: &str = "kpt.dev/save-on-render-failure";

#[cfg(test)]
mod tests;
