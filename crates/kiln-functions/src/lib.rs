//! The functions of the public catalog, built in: they run on trees, without a process or a container.
//!
//! [`Function`] is the trait of a function; [`registry`] finds functions by name and version; [`NativeEvaluator`]
//! runs them in pipelines, and [`wire::run`] runs them on a ResourceList as text. Only known versions are found. Each
//! function behaves like the original of its version, in its output and its messages, except that it never panics and
//! that its order is fixed where Go's map order is random.
//!
//! Functions access neither files nor network nor environment, except through their [`Context`]: [`Files`] contains
//! the files that the user passed.

mod budget;
mod catalog;
mod evaluator;
mod function;
mod nesting;
mod output;
mod port;
pub mod registry;
pub mod sdk;
mod settle;
mod watched;
pub mod wire;

pub use catalog::StarlarkScript;
pub use evaluator::NativeEvaluator;
pub use function::{Context, Ending, Files, Function, FunctionList, ListHeads, NoFiles, Stopped};
pub use output::{Printed, Results};

/// A resource cannot be formatted.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct FormatResourceError(port::kyaml::FormatError);

/// Puts the fields of a resource into kyaml's canonical order, and returns whether that changed anything.
pub fn format_resource(document: &mut kiln_yaml::Document) -> Result<bool, FormatResourceError> {
    port::kyaml::format(document, None).map_err(FormatResourceError)
}

/// Whether a type of Kubernetes is known to have no namespace.
pub fn is_cluster_scoped(api_version: &str, kind: &str) -> bool {
    port::go_sdk::is_namespaced_type(api_version, kind) == Some(false)
}
