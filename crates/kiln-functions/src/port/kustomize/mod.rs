//! What many functions of the catalog took from kustomize: field specs and the filter that follows them, the map of
//! resources with its ids, references by name, image tags, replacements, and typed configuration.
//!
//! Behaviour differs by the release that a function was built with; [`Generation`] says which one is meant. Messages
//! are kustomize's own. Nothing here knows which function it serves.

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
    MIGRATION_ID, MapError, Marks, check_metadata, check_resources, resource_id_text,
};
pub(crate) use round_trip::{round_trip, through_json};
pub(crate) use scope::{is_cluster_scoped, was_cluster_scoped};
pub(crate) use transformer::{Release, transform};

/// Which kustomize a function was built with, as far as functions show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Generation {
    /// api 0.7 with kyaml 0.10.5.
    March2021,
    /// The same api with kyaml 0.10.20.
    May2021,
    /// api 0.8.11 with kyaml 0.10.21. Lists in messages are indented.
    June2021,
    /// api 0.10 with kyaml 0.13.
    December2021,
    /// api 0.11 with kyaml 0.13.3. Messages name resources by their ids, and fields by their whole paths.
    January2022,
    /// api 0.19 and 0.20.
    Of2025,
}
