//! JSON schemas: those of the Kubernetes types, built in, and those of users.
//!
//! [`TypeTable`] contains the types of one version of Kubernetes and builds [`Schemas`] from them in the form of
//! openapi2jsonschema, for kubeval and kubeconform: optional fields may be null, and unknown fields are rejected in
//! strict mode only. [`parse()`] reads schema files. [`validate()`] has the messages of the library that kubeconform
//! uses; kubeval has its own.
//!
//! Nothing is fetched over the network.

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
pub(crate) use table::{TypeTable, UnknownFields, kind_suffix};
pub(crate) use validate::{TooDeep, validate};
