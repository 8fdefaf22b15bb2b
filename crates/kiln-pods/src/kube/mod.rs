//! The cluster: the API server, what watches report, and the objects that are written.

pub(crate) mod api;
pub(crate) mod client;
pub(crate) mod cluster_view;
pub(crate) mod lease;
pub(crate) mod names;
pub(crate) mod objects;
pub(crate) mod pod_status;
pub(crate) mod pull_secret;
pub(crate) mod replicas;
pub(crate) mod views;
pub(crate) mod watch;
