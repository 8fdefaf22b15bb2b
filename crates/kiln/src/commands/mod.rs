//! One file for each verb: its flags, and the function that runs it. What several verbs share is outside of this directory.

pub(crate) mod argocd;
pub(crate) mod cache;
pub(crate) mod completion;
pub(crate) mod doctor;
pub(crate) mod fn_;
pub(crate) mod function;
pub(crate) mod helm;
pub(crate) mod image;
pub(crate) mod live;
pub(crate) mod lock;
pub(crate) mod manual;
pub(crate) mod migrate;
pub(crate) mod pkg;
pub(crate) mod policy;
pub(crate) mod push;
pub(crate) mod repo;
pub(crate) mod rpkg;
pub(crate) mod serve;
pub(crate) mod version;
pub(crate) mod wasm;
