//! Functions that run in pods of a Kubernetes cluster.
//!
//! [`state`] decides and touches nothing: what happened goes in, what is to be done comes out. Everything that talks to
//! Kubernetes, to registries and to pods is around it and decides nothing.

pub mod state;
