//! The KRM vocabulary: resources, ResourceList, results, Kptfile, packages in memory, selectors, image references.
//!
//! A [`Resource`] is a view of a document with its [`Origin`], the file that it came from. `read` and `write` are kyaml's
//! reader and writer; [`Dialect`] selects the rules of today's kpt or of v0.39. `package` lists the files of a package and
//! plans what they become, which `kiln-package` carries out. `kptfile` and `results` are decoded strictly, with kpt's
//! messages, and edited with comments kept. A change is merged into a document's own text (`write/keep_lines`), which is used
//! only if it reads back as the changed tree.
//!
//! Deliberately absent: files, environment, network, processes and the clock.

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
