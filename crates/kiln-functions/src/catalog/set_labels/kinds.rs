//! Which types have labels in which fields.

use kiln_yaml::NodeRef;

use crate::port::go_sdk::is_gvk;

/// Whether `spec.selector` is the selector itself.
pub(super) fn selects_by_map(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "", "v1", "Service") || is_gvk(resource, "", "v1", "ReplicationController")
}

/// Whether `spec.selector.matchLabels` is created if it is missing.
pub(super) fn selects_by_labels(resource: NodeRef<'_>) -> bool {
    is_replicated(resource)
}

/// Whether `spec.selector.matchLabels` is set only if it exists.
pub(super) fn may_select_by_labels(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "batch", "", "Job") || is_gvk(resource, "policy", "", "PodDisruptionBudget")
}

/// Whether `spec.template` is a pod template.
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

/// Whether it has `spec.volumeClaimTemplates`.
pub(super) fn is_stateful_set(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "apps", "", "StatefulSet")
}

/// Whether `spec.jobTemplate` is a job template.
pub(super) fn is_cron_job(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "batch", "", "CronJob")
}

/// Whether it has `spec.podSelector` and rules with selectors.
pub(super) fn is_network_policy(resource: NodeRef<'_>) -> bool {
    is_gvk(resource, "networking.k8s.io", "", "NetworkPolicy")
}
