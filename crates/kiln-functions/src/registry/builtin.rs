//! The table of built-in functions. Each module has its own entry.

use super::{FunctionInfo, Registry};
use crate::catalog::{
    annotate_apply_time_mutations, apply_replacements, apply_setters, create_setters,
    delete_annotations, drop_comments, enable_gcp_services, ensure_name_substring,
    export_terraform, fix, format, gatekeeper, generate_folders, kpt_test_functions, kubeconform,
    kubeval, list_setters, remove_local_config_resources, search_replace, set_annotations,
    set_enforcement_action, set_image, set_labels, set_namespace, set_project_id, sleep, starlark,
    upsert_resource,
};

pub(super) static REGISTRY: Registry = Registry {
    functions: FUNCTIONS,
    unlisted: kpt_test_functions::ALL,
};

/// Sorted by name.
const FUNCTIONS: &[&FunctionInfo] = &[
    &annotate_apply_time_mutations::INFO,
    &apply_replacements::INFO,
    &apply_setters::INFO,
    &create_setters::INFO,
    &delete_annotations::INFO,
    &drop_comments::INFO,
    &enable_gcp_services::INFO,
    &ensure_name_substring::INFO,
    &export_terraform::INFO,
    &fix::INFO,
    &format::INFO,
    &gatekeeper::INFO,
    &generate_folders::INFO,
    &kubeconform::INFO,
    &kubeval::INFO,
    &list_setters::INFO,
    &remove_local_config_resources::INFO,
    &search_replace::INFO,
    &set_annotations::INFO,
    &set_enforcement_action::INFO,
    &set_image::INFO,
    &set_labels::INFO,
    &set_namespace::INFO,
    &set_project_id::INFO,
    &sleep::INFO,
    &starlark::INFO,
    &upsert_resource::INFO,
];
