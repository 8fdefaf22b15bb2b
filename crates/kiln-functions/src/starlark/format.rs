//! The order that kyaml's formatter gives to fields, and to the few lists that it sorts.

use kiln_yaml::{Document, NodeId};

/// Puts the fields of a resource in order. Without a type it is left alone.
pub(super) fn format(document: &mut Document) {
    let root = document.root();
    let text = |key: &str| root.get(key).map(|node| node.value().to_owned());
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return;
    };
    let annotations = root
        .get("metadata")
        .and_then(|node| node.get("annotations"));
    let strategy = annotations.and_then(|node| node.get("config.kubernetes.io/formatting"));
    if strategy.is_some_and(|strategy| strategy.value() == "none") {
        return;
    }
    let sorts_lists = SORTED_KINDS.contains(&kind.as_str())
        && SORTED_API_VERSIONS.contains(&api_version.as_str());
    let mut open = vec![(root.id(), String::new())];
    while let Some((id, path)) = open.pop() {
        let node = document.node(id);
        if node.is_mapping() {
            let mut entries: Vec<(String, NodeId, NodeId)> = node
                .entries()
                .map(|(key, value)| (key.value().to_owned(), key.id(), value.id()))
                .collect();
            entries.sort_by(|(a, ..), (b, ..)| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)));
            let children: Vec<NodeId> = entries
                .iter()
                .flat_map(|(_, key, value)| [*key, *value])
                .collect();
            for (key, _, value) in entries {
                open.push((value, format!("{path}.{key}")));
            }
            document.set_children(id, &children);
        } else if node.is_sequence() {
            let field = SORTED_LISTS.iter().find(|(list, _)| *list == path);
            let mut items: Vec<NodeId> = node.items().map(|item| item.id()).collect();
            open.extend(items.iter().map(|item| (*item, path.clone())));
            if let Some((_, field)) = field.filter(|_| sorts_lists) {
                let value = |item: &NodeId| {
                    let item = document.node(*item);
                    match field.is_empty() {
                        true => item.value().to_owned(),
                        false => item.get(field).map_or("", |node| node.value()).to_owned(),
                    }
                };
                items.sort_by_key(value);
                document.set_children(id, &items);
            }
        }
    }
}

/// Known fields come first; of one that is listed twice the later place counts.
fn rank(field: &str) -> usize {
    FIELDS
        .iter()
        .rposition(|known| *known == field)
        .unwrap_or(FIELDS.len())
}

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

/// Lists by path, and the field of their items that they are sorted by.
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
