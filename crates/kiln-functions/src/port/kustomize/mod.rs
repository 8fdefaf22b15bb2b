//! The parts of kustomize that the catalog's functions use: field specs and the filter that follows them, the
//! resource map with its ids, name references, image tags, replacements, and typed configuration.
//!
//! [`KustomizeRelease`] is the release that a function was built with. Messages are kustomize's own. No function is
//! special here.

mod aliases;
pub(crate) mod decode;
mod field_spec;
mod image;
mod label_selector;
mod name_reference;
mod number;
mod path_filter;
mod paths;
mod plugin;
pub(crate) mod replacement;
mod resource_id;
mod resource_map;
mod round_trip;
mod scope;
mod transformer;
mod unstructured;

pub(crate) use field_spec::FieldSpec;
pub(crate) use image::Image;
pub(crate) use name_reference::{History, fix_references, original_id, overwrite_scalar};
pub(crate) use number::shortest;
pub(crate) use path_filter::{
    Creation, FieldPath, FilterError, apply_spec, expect_scalar, kind_error,
};
pub(crate) use paths::split_dotted;
pub(crate) use plugin::{PluginError, SpecsField, fail, read_plugin, set_entries};
pub(crate) use resource_id::{PreviousIdsError, ResourceId};
pub(crate) use resource_map::{
    MIGRATION_ID, MapError, ResourceMarks, check_metadata, check_resources, resource_id_text,
};
pub(crate) use round_trip::{MergeKeys, round_trip, through_json};
pub(crate) use scope::{is_cluster_scoped, was_cluster_scoped};
pub(crate) use transformer::{TransformerRelease, transform};

/// The releases of kustomize that functions were built with, as far as functions show the difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum KustomizeRelease {
    /// api 0.7 with kyaml 0.10.5.
    Api0_7,
    /// The same api with kyaml 0.10.20.
    Api0_7Kyaml0_10_20,
    /// api 0.8.11 with kyaml 0.10.21. Lists in messages are indented.
    Api0_8,
    /// api 0.10 with kyaml 0.13.
    Api0_10,
    /// api 0.11 with kyaml 0.13.3. Messages name resources by their ids, and fields by their whole paths.
    Api0_11,
    /// api 0.19 and 0.20.
    Api0_19,
}
