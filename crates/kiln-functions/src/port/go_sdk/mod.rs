//! kpt's SDK for Go: fields by path, identities, the scope of types, typed configuration.
//!
//! Reading is strict: a key must be a string, and a text that YAML resolves to a number is not a string. Where the
//! original ends with a stack trace, these functions return an error about the type.

mod decode;
mod field;
mod identity;
mod order;
mod scope;

pub(crate) use decode::OBJECT_META;
pub(crate) use order::sort_items;
pub(crate) use scope::is_namespaced as is_namespaced_type;

pub use decode::{FieldType, StructType, check_struct};
pub use field::{Formatting, WrongType, field, nested, nested_text, set_text, slice};
pub use identity::{
    DEFAULT_NAMESPACE, ResourceIdentity, UNKNOWN_NAMESPACE, UPSTREAM_IDENTIFIER, about_object,
    has_namespace, identity, is_gvk, is_local_config, is_namespace_scoped, origin, resource_ref,
    short_text, text,
};
