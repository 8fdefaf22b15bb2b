//! Which types have labels in which places.

use kiln_yaml::NodeRef;

use crate::port::go_sdk::is_gvk;

/// `spec.selector` is the selector itself.
pub(super) fn selects_by_map(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "", "v1", "Service") || is_gvk(resource, "", "v1", "ReplicationController")
}

/// `spec.selector.matchLabels` is there, or must be.
pub(super) fn selects_by_labels(resource: NodeRef<'_>) -> bool {
    is_replicated(resource)
}

/// `spec.selector.matchLabels` may be there.
pub(super) fn may_select_by_labels(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "batch", "", "Job") || is_gvk(resource, "policy", "", "PodDisruptionBudget")
}

/// `spec.template` is a pod.
pub(super) fn has_pod_template(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "", "v1", "ReplicationController")
        || is_replicated(resource)
        || is_gvk(resource, "batch", "", "Job")
}

fn is_replicated(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "", "", "Deployment")
        || is_gvk(resource, "", "", "ReplicaSet")
        || is_gvk(resource, "", "", "DaemonSet")
        || is_stateful_set(resource)
}

/// `spec.volumeClaimTemplates` are there.
pub(super) fn is_stateful_set(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "apps", "", "StatefulSet")
}

/// `spec.jobTemplate` is a job.
pub(super) fn is_cron_job(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "batch", "", "CronJob")
}

/// `spec.podSelector` and its like are there.
pub(super) fn is_network_policy(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "networking.k8s.io", "", "NetworkPolicy")
}
