//! The functions of the catalog. Each module has its own entry; here they are put in order.

use super::{FunctionInfo, Registry};
use crate::{
    apply_replacements, apply_setters, create_setters, gatekeeper, kubeconform, kubeval,
    list_setters, search_replace, set_annotations, set_labels, set_namespace, starlark,
    test_helpers,
};

pub(super) static REGISTRY: Registry = Registry::new(FUNCTIONS);

/// By name.
const FUNCTIONS: &[&FunctionInfo] = &[
    &apply_replacements::INFO,
    &apply_setters::INFO,
    &test_helpers::BAR,
    &create_setters::INFO,
    &test_helpers::FOO,
    &gatekeeper::INFO,
    &kubeconform::INFO,
    &kubeval::INFO,
    &list_setters::INFO,
    &test_helpers::NO_OP,
    &test_helpers::PRINTENV,
    &search_replace::INFO,
    &set_annotations::INFO,
    &set_labels::INFO,
    &set_namespace::INFO,
    &starlark::INFO,
];
