//! JSON schemas: those of Kubernetes' own types, built in, and those that users bring along.
//!
//! [`Table`] knows the types of one version of Kubernetes and makes [`Schemas`] of them in the form in which
//! openapi2jsonschema does for kubeval and kubeconform: optional fields may be null, and unknown fields are refused in
//! strict mode only. [`parse()`] makes them of schema files. [`validate()`] speaks like the library that kubeconform
//! uses; how kubeval speaks is for kubeval to know.
//!
//! Nothing here fetches anything: a schema is there, or it is not.

mod format;
mod parse;
mod schema;
mod table;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use format::Format;
pub(crate) use parse::{ParseError, parse};
pub(crate) use schema::{Additional, Schema, SchemaId, Schemas, Type};
pub(crate) use table::{Table, UnknownFields, kind_suffix};
pub(crate) use validate::{TooDeep, validate};
