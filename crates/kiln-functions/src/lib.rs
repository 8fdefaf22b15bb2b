//! The functions of the public catalog, built in: on the tree, without a process or a container.
//!
//! [`Function`] is what a function is; [`registry`] knows which ones there are, by name and version; [`NativeEvaluator`] offers
//! them to pipelines, and [`wire::run`] to whoever has a ResourceList as text. A version is known or it is not found:
//! nothing is guessed. Each function behaves as the original of its version does, in what it writes as in what it
//! says, except that it never panics and keeps an order where Go's maps have none.
//!
//! Functions touch neither files nor network nor environment; what they may know of the world is in their [`Context`],
//! files included: [`Files`] has those that the user gave.

mod annotate_apply_time_mutations;
mod apply_replacements;
mod apply_setters;
mod budget;
mod create_setters;
mod delete_annotations;
mod drop_comments;
mod duplicate_keys;
mod enable_gcp_services;
mod ensure_name_substring;
mod evaluator;
mod export_terraform;
mod fix;
mod format;
mod function;
mod gatekeeper;
mod generate_folders;
mod jsonschema;
mod kubeconform;
mod kubeval;
mod kustomize;
mod list_setters;
mod output;
pub mod registry;
mod remove_local_config_resources;
pub mod sdk;
mod search_replace;
mod set_annotations;
mod set_enforcement_action;
mod set_image;
mod set_labels;
mod set_namespace;
mod set_project_id;
mod setters;
mod settle;
mod sleep;
mod starlark;
mod test_helpers;
mod upsert_resource;
mod watched;
pub mod wire;

pub use evaluator::NativeEvaluator;
pub use function::{Context, Ending, Files, Function, FunctionList, ListHeads, NoFiles, Stopped};
pub use output::{Printed, Results};
pub use starlark::StarlarkScript;
