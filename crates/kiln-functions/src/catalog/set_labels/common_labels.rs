//! The fields that kustomize sets common labels in: labels, selectors and templates.

use crate::port::kustomize::FieldSpec;

const MATCH_LABELS: &str = "spec/selector/matchLabels";
const TEMPLATE: &str = "spec/template/metadata/labels";
const PREFERRED_AFFINITY: &str = "spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels";
const REQUIRED_AFFINITY: &str = "spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels";
const PREFERRED_ANTI_AFFINITY: &str = "spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels";
const REQUIRED_ANTI_AFFINITY: &str = "spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels";
const SPREAD_CONSTRAINTS: &str =
    "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels";
const VOLUME_CLAIMS: &str = "spec/volumeClaimTemplates[]/metadata/labels";
const JOB_MATCH_LABELS: &str = "spec/jobTemplate/spec/selector/matchLabels";
const JOB: &str = "spec/jobTemplate/metadata/labels";
const JOB_TEMPLATE: &str = "spec/jobTemplate/spec/template/metadata/labels";
const PODS: &str = "spec/podSelector/matchLabels";
const INGRESS: &str = "spec/ingress/from/podSelector/matchLabels";
const EGRESS: &str = "spec/egress/to/podSelector/matchLabels";

pub(super) static DEFAULTS: &[FieldSpec] = &[
    FieldSpec::new("", "", "", "metadata/labels", true),
    FieldSpec::new("", "v1", "Service", "spec/selector", true),
    FieldSpec::new("", "v1", "ReplicationController", "spec/selector", true),
    FieldSpec::new("", "v1", "ReplicationController", TEMPLATE, true),
    FieldSpec::new("", "", "Deployment", MATCH_LABELS, true),
    FieldSpec::new("", "", "Deployment", TEMPLATE, true),
    FieldSpec::new("apps", "", "Deployment", PREFERRED_AFFINITY, false),
    FieldSpec::new("apps", "", "Deployment", REQUIRED_AFFINITY, false),
    FieldSpec::new("apps", "", "Deployment", PREFERRED_ANTI_AFFINITY, false),
    FieldSpec::new("apps", "", "Deployment", REQUIRED_ANTI_AFFINITY, false),
    FieldSpec::new("apps", "", "Deployment", SPREAD_CONSTRAINTS, false),
    FieldSpec::new("", "", "ReplicaSet", MATCH_LABELS, true),
    FieldSpec::new("", "", "ReplicaSet", TEMPLATE, true),
    FieldSpec::new("", "", "DaemonSet", MATCH_LABELS, true),
    FieldSpec::new("", "", "DaemonSet", TEMPLATE, true),
    FieldSpec::new("apps", "", "StatefulSet", MATCH_LABELS, true),
    FieldSpec::new("apps", "", "StatefulSet", TEMPLATE, true),
    FieldSpec::new("apps", "", "StatefulSet", PREFERRED_AFFINITY, false),
    FieldSpec::new("apps", "", "StatefulSet", REQUIRED_AFFINITY, false),
    FieldSpec::new("apps", "", "StatefulSet", PREFERRED_ANTI_AFFINITY, false),
    FieldSpec::new("apps", "", "StatefulSet", REQUIRED_ANTI_AFFINITY, false),
    FieldSpec::new("apps", "", "StatefulSet", SPREAD_CONSTRAINTS, false),
    FieldSpec::new("apps", "", "StatefulSet", VOLUME_CLAIMS, true),
    FieldSpec::new("batch", "", "Job", MATCH_LABELS, false),
    FieldSpec::new("batch", "", "Job", TEMPLATE, true),
    FieldSpec::new("batch", "", "CronJob", JOB_MATCH_LABELS, false),
    FieldSpec::new("batch", "", "CronJob", JOB, true),
    FieldSpec::new("batch", "", "CronJob", JOB_TEMPLATE, true),
    FieldSpec::new("policy", "", "PodDisruptionBudget", MATCH_LABELS, false),
    FieldSpec::new("networking.k8s.io", "", "NetworkPolicy", PODS, false),
    FieldSpec::new("networking.k8s.io", "", "NetworkPolicy", INGRESS, false),
    FieldSpec::new("networking.k8s.io", "", "NetworkPolicy", EGRESS, false),
];
