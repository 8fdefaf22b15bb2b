//! One file for each verb: its flags, and the function that runs it. What several verbs share is outside of this directory.

pub(crate) mod completion;
pub(crate) mod fn_;
pub(crate) mod function;
pub(crate) mod repo;
pub(crate) mod rpkg;
pub(crate) mod serve;
