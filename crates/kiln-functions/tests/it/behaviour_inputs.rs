//! Inputs of functions whose originals were not recorded, for `behaviour.rs` only: they say nothing about the originals.

/// Inputs by the name of their function.
pub(crate) const INPUTS: &[(&str, &str)] = &[
    ("gatekeeper", GATEKEEPER),
    ("gatekeeper", GATEKEEPER_BROKEN),
    ("kubeval", SCHEMAS),
    ("kubeval", SCHEMAS_STRICT),
    ("kubeconform", SCHEMAS),
    ("kubeconform", SCHEMAS_STRICT),
    ("generate-folders", FOLDERS),
    ("generate-folders", FOLDERS_OLD),
    ("drop-comments", COMMENTS),
    ("sleep", SLEEP),
];

/// Violations with each severity, parameters, selectors and the inventory.
const GATEKEEPER: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: templates.gatekeeper.sh/v1beta1
  kind: ConstraintTemplate
  metadata:
    name: requiredlabels
  spec:
    crd:
      spec:
        names:
          kind: RequiredLabels
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |-
        package requiredlabels
        violation[{"msg": msg, "details": {"missing": missing}}] {
          provided := {label | input.review.object.metadata.labels[label]}
          required := {label | label := input.parameters.labels[_]}
          missing := required - provided
          count(missing) > 0
          msg := sprintf("%v must have labels: %v", [input.review.object.metadata.name, missing])
        }
- apiVersion: templates.gatekeeper.sh/v1beta1
  kind: ConstraintTemplate
  metadata:
    name: uniquename
  spec:
    crd:
      spec:
        names:
          kind: UniqueName
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |-
        package uniquename
        violation[{"msg": msg}] {
          other := data.inventory.namespace[ns][_]["ConfigMap"][name]
          ns != input.review.object.metadata.namespace
          name == input.review.object.metadata.name
          msg := sprintf("%v is also in %v", [name, ns])
        }
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: RequiredLabels
  metadata:
    name: deny-labels
  spec:
    match:
      kinds:
      - apiGroups: [""]
        kinds: [ConfigMap]
      excludedNamespaces: [two]
    parameters:
      labels: [owner, team]
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: RequiredLabels
  metadata:
    name: warn-labels
  spec:
    enforcementAction: warn
    match:
      labelSelector:
        matchLabels: {tier: web}
    parameters:
      labels: [owner]
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: UniqueName
  metadata:
    name: unique
  spec:
    enforcementAction: dryrun
    match:
      kinds:
      - apiGroups: [""]
        kinds: [ConfigMap]
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings # keep
    namespace: one
    labels: {tier: web, team: a}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
    namespace: two
"#;

/// A policy that does not compile.
const GATEKEEPER_BROKEN: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: templates.gatekeeper.sh/v1
  kind: ConstraintTemplate
  metadata:
    name: broken
  spec:
    crd:
      spec:
        names:
          kind: Broken
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |-
        package broken
        violation[{"msg": msg}] {
          msg := undefined_function(input)
        }
"#;

/// Valid and invalid resources, one without a schema and one that is skipped.
const SCHEMAS: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: valid
  data: {a: b}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: invalid # keep
    annotations: {config.kubernetes.io/path: a.yaml, config.kubernetes.io/index: '1'}
  spec:
    replicas: three
    template:
      spec:
        containers: {}
- apiVersion: example.com/v1
  kind: Unknown
  metadata:
    name: unknown
- apiVersion: v1
  kind: Service
  metadata:
    name: skipped
  spec: 3
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    ignore_missing_schemas: "true"
    skip_kinds: Service
"#;

/// A field that the schema does not have.
const SCHEMAS_STRICT: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: more
  spec:
    ports: [{port: 80, surplus: true}]
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    strict: "true"
"#;

/// Nested folders, a subtree that is used twice, and a name that has to be changed.
const FOLDERS: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: blueprints.cloud.google.com/v1alpha3
  kind: ResourceHierarchy
  metadata:
    name: root-hierarchy
    namespace: hierarchy
    annotations:
      config.kubernetes.io/local-config: "true"
      team: a # keep
  spec:
    parentRef:
      kind: Organization
      external: "123456789012"
    config:
    - dev:
        $subtree: teams
    - Prod Area:
      - retail:
          $subtree: teams
      - finance
    subtrees:
      teams:
      - retail
      - finance
"#;

/// The older form, and one that is invalid.
const FOLDERS_OLD: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: cft.dev/v1alpha1
  kind: ResourceHierarchy
  metadata:
    name: old
  spec:
    organization: 123456789012
    layers: [environments, teams]
    config:
      environments: [dev, prod]
      teams: [one, two]
- apiVersion: blueprints.cloud.google.com/v1alpha3
  kind: ResourceHierarchy
  metadata:
    name: invalid
  spec:
    config: 7
"#;

/// Comments in every position.
const COMMENTS: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
# before the item
- apiVersion: v1
  kind: ConfigMap # kind
  metadata:
    # before the name
    name: a # name
  data:
    text: |
      # not a comment
    list: "[1, 2]" # last
    # at the end
"#;

/// No time at all.
const SLEEP: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a # keep
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    sleepSeconds: "0"
"#;
