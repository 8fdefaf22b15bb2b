//! Stand-ins for an API server, a cluster and a pod.

pub(crate) mod fake_cluster;
pub(crate) mod scripted_api;
pub(crate) mod scripted_pod;
