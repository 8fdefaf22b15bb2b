//! What kyaml's framework offers to functions: the data of a ConfigMap, the file of a resource, results in its older
//! form, and a walk over a resource that may be changed on the way.
//!
//! Where generations of kyaml differ, [`Generation`] says which one is meant. Fields are found by kyaml's rule that of
//! a key given twice the first counts.

mod config;
mod families;
mod fields;
mod format;
mod lift;
mod results;
mod text;
mod walk;

pub(crate) use config::{Generation, MissingMetadata, data_map, file_path, place_path};
pub(crate) use families::{
    Families, annotation_map, families, in_step, set_annotation_map, set_text_map,
};
pub(crate) use fields::{SetFieldError, check_path, set_untagged};
pub(crate) use format::{FormatError, format};
pub(crate) use lift::lift_comments;
pub(crate) use results::{failure, item, note};
pub(crate) use text::{as_comment, node_text};
pub(crate) use walk::{Visitor, fields, walk};
