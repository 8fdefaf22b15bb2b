//! The functions of the public catalog, one module each, and the modules that several of them share.

pub(crate) mod annotate_apply_time_mutations;
pub(crate) mod apply_replacements;
pub(crate) mod apply_setters;
pub(crate) mod create_setters;
pub(crate) mod delete_annotations;
mod depends_on;
pub(crate) mod drop_comments;
pub(crate) mod enable_gcp_services;
pub(crate) mod ensure_name_substring;
pub(crate) mod export_terraform;
pub(crate) mod fix;
pub(crate) mod format;
pub(crate) mod gatekeeper;
pub(crate) mod generate_folders;
pub(crate) mod kpt_test_functions;
pub(crate) mod kubeconform;
pub(crate) mod kubeval;
pub(crate) mod list_setters;
pub(crate) mod remove_local_config_resources;
pub(crate) mod search_replace;
pub(crate) mod set_annotations;
pub(crate) mod set_enforcement_action;
pub(crate) mod set_image;
pub(crate) mod set_labels;
pub(crate) mod set_namespace;
pub(crate) mod set_project_id;
mod setter_comments;
pub(crate) mod sleep;
pub(crate) mod starlark;
pub(crate) mod upsert_resource;

pub use starlark::StarlarkScript;
