//! One file for each verb: its flags, and the function that does it.

pub(crate) mod completion;
pub(crate) mod function;
pub(crate) mod native;
pub(crate) mod registries;
pub(crate) mod repo;
pub(crate) mod rpkg;
pub(crate) mod serve;
