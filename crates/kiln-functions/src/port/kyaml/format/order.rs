//! The field order of kyaml's formatter, and the lists that it sorts.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Compares two fields: known ones by rank, then all others alphabetically.
pub(super) fn compare_fields(one: &str, other: &str) -> Ordering {
    match (PLACES.get(one), PLACES.get(other)) {
        (Some(one), Some(other)) => one.cmp(other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Whether such resources have lists that are sorted.
pub(super) fn has_sorted_lists(api_version: &str, kind: &str) -> bool {
    SORTED_KINDS.contains(&kind) && SORTED_API_VERSIONS.contains(&api_version)
}

/// Whether a sorted list is at a path or below it.
pub(super) fn leads_to_sorted_list(path: &str) -> bool {
    SORTED_LISTS.iter().any(|(list, _)| list.starts_with(path))
}

/// The field by which the items of the list at a path are sorted; empty for the items themselves.
pub(super) fn sort_field(path: &str) -> Option<&'static str> {
    let list = SORTED_LISTS.iter().find(|(list, _)| *list == path);
    list.map(|(_, field)| *field)
}

/// The ranks of known fields; if a field is listed twice, the later rank counts.
static PLACES: LazyLock<HashMap<&str, usize>> =
    LazyLock::new(|| FIELDS.iter().copied().zip(0..).collect());

const SORTED_KINDS: &[&str] = &[
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicaSet",
    "StatefulSet",
    "ValidatingWebhookConfiguration",
];

const SORTED_API_VERSIONS: &[&str] = &[
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "batch/v1",
    "batch/v1beta1",
    "extensions/v1beta1",
    "v1",
    "admissionregistration.k8s.io/v1",
];

/// Lists by path, and the field of their items by which they are sorted.
const SORTED_LISTS: &[(&str, &str)] = &[
    (".spec.template.spec.containers", "name"),
    (".webhooks.rules.operations", ""),
];

const FIELDS: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "clusterName",
    "apiVersion",
    "kind",
    "metadata",
    "type",
    "labels",
    "annotations",
    "spec",
    "status",
    "stringData",
    "data",
    "binaryData",
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "replicas",
    "selector",
    "manualSelector",
    "template",
    "ttlSecondsAfterFinished",
    "volumeClaimTemplates",
    "service",
    "serviceName",
    "podManagementPolicy",
    "updateStrategy",
    "strategy",
    "minReadySeconds",
    "revision",
    "revisionHistoryLimit",
    "paused",
    "progressDeadlineSeconds",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "serviceAccountName",
    "serviceAccount",
    "automountServiceAccountToken",
    "nodeName",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostname",
    "subdomain",
    "schedulerName",
    "priorityClassName",
    "priority",
    "runtimeClassName",
    "enableServiceLinks",
    "nodeSelector",
    "hostAliases",
    "initContainers",
    "containers",
    "volumes",
    "securityContext",
    "imagePullSecrets",
    "affinity",
    "tolerations",
    "dnsConfig",
    "readinessGates",
    "image",
    "command",
    "args",
    "workingDir",
    "ports",
    "envFrom",
    "env",
    "resources",
    "volumeMounts",
    "volumeDevices",
    "livenessProbe",
    "readinessProbe",
    "lifecycle",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
    "clusterIP",
    "externalIPs",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "externalName",
    "externalTrafficPolicy",
    "sessionAffinity",
    "protocol",
    "port",
    "targetPort",
    "hostPort",
    "containerPort",
    "hostIP",
    "readOnly",
    "mountPath",
    "subPath",
    "subPathExpr",
    "mountPropagation",
    "value",
    "valueFrom",
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "prefix",
    "configMapRef",
    "secretRef",
];
