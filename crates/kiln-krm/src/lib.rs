//! The KRM vocabulary: resources, ResourceList, results, Kptfile, packages in memory, selectors, image references.

pub mod annotations;
pub mod check;
pub mod declaration;
mod dialect;
mod editable_text;
pub mod image;
pub mod kptfile;
pub mod legacy_words;
mod list;
pub mod meta;
mod origin;
pub mod package;
pub mod parallel;
pub mod paths;
pub mod read;
pub mod record;
mod resource;
pub mod results;
pub mod roundtrip;
pub mod schema;
pub mod secrets;
pub mod selector;
mod similar;
pub mod write;

pub use dialect::Dialect;
pub use editable_text::EditableText;
pub use list::{
    LEGACY_RESOURCE_LIST_API_VERSION, RESOURCE_LIST_KIND, ResourceList, Wrapper, write_list,
    write_list_on, write_list_within,
};
pub use origin::{Origin, SourceFile};
pub use record::DecodeError;
pub use resource::{GroupVersionKind, Resource, ResourceId};
pub use similar::similar_name;
