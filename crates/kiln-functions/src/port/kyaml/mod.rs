//! kyaml's framework: the data of a ConfigMap, the file of a resource, results in the older form, and a walk over a
//! resource that may change it.
//!
//! [`KyamlRelease`] is the release that a function was built with. Fields are found by kyaml's rule that the first of
//! duplicate keys counts.

mod config;
mod families;
mod fields;
mod format;
mod lift;
mod results;
mod text;
mod walk;

pub(crate) use config::{KyamlRelease, MissingMetadata, data_map, file_path, place_path};
pub(crate) use families::{
    AnnotationFamilies, annotation_map, families, in_step, set_annotation_map, set_text_map,
};
pub(crate) use fields::{SetFieldError, check_path, set_untagged};
pub(crate) use format::{FormatError, format};
pub(crate) use lift::lift_comments;
pub(crate) use results::{failure, item, note};
pub(crate) use text::{as_comment, node_text};
pub(crate) use walk::{Visitor, fields, walk};
