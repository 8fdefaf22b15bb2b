//! Functions that run in pods of a Kubernetes cluster.
//!
//! [`state`] decides and touches nothing: what happened goes in, what is to be done comes out. Everything that talks to
//! Kubernetes, to registries and to pods is around it and decides nothing.

mod address;
mod api;
pub mod cache_config;
mod cache_file;
mod cluster;
mod connection;
mod driver;
mod error;
mod evaluator;
#[cfg(test)]
mod fake_cluster;
pub mod function_config;
mod images;
pub mod keys;
mod lease;
mod local;
pub mod names;
pub mod objects;
mod options;
pub mod overrides;
mod plans;
mod pull_secret;
mod registry_images;
mod replicas;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod scripted_pod;
pub mod state;
mod stuck;
pub mod template;
mod views;
mod watch;
mod world;
mod yaml;

pub use address::AddressMode;
pub use error::{PodError, StartError};
pub use evaluator::{Call, PodEvaluator};
pub use images::{ImageError, ImageInfo, Images, Resolving};
pub use kube;
pub use local::{LocalExecutors, NoLocalExecutors};
pub use options::{Cluster, Options, PullSecret};
pub use registry_images::RegistryImages;
