//! The function before v0.3: kustomize's namespace transformer.
//!
//! Resources pass through JSON. Every type that is not known to be cluster-scoped gets a namespace.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_krm::meta::Meta;
use kiln_yaml::{Document, Kind, NodeId};

use crate::budget::is_stopped;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::decode::{ConfigShape, FieldShape, StructShape};
use crate::port::kustomize::{
    Creation, FieldPath, FieldSpec, FilterError, KustomizeRelease, PluginError, SpecsField,
    TransformerRelease, apply_spec, expect_scalar, is_cluster_scoped, kind_error, read_plugin,
    transform, was_cluster_scoped,
};
use crate::port::kyaml::data_map;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransformerSetNamespace {
    /// Of subjects only the one named `default` is updated.
    V0_1(TransformerRelease),
    /// Service accounts of the package are updated too.
    V0_2,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum SetNamespaceConfigError {
    #[error("`functionConfig` must be a `ConfigMap` or `SetNamespace`")]
    Kind,
    #[error("function config must be a ConfigMap or SetNamespaceConfig")]
    FormerKind,
    #[error("input namespace cannot be empty")]
    Empty,
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl Function for TransformerSetNamespace {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let release = match self {
            TransformerSetNamespace::V0_1(release) => *release,
            TransformerSetNamespace::V0_2 => TransformerRelease::Kyaml0_10_21,
        };
        let config = read(release.see(list.config.as_ref()).as_ref(), release);
        let accounts = |items: &[Resource]| match self {
            TransformerSetNamespace::V0_1(_) => HashSet::new(),
            TransformerSetNamespace::V0_2 => accounts(items),
        };
        transform(
            list,
            ctx,
            release,
            config,
            accounts,
            |config, accounts, resource| {
                let (namespace, additional) = config;
                set_in(resource, namespace, additional, release)?;
                follow_accounts(resource, accounts, namespace)
            },
        )
    }

    fn rewrites_text(&self) -> bool {
        true
    }
}

/// The names of all service accounts.
fn accounts(items: &[Resource]) -> HashSet<String> {
    let accounts = items.iter().filter(|item| item.kind() == "ServiceAccount");
    accounts.map(|item| item.name().to_owned()).collect()
}

/// Sets the namespace of a resource, which passes through JSON.
fn set_in(
    resource: &mut Resource,
    namespace: &str,
    additional: &[FieldSpec],
    release: TransformerRelease,
) -> Result<(), FilterError> {
    let kustomize = release.kustomize();
    let set = |document: &mut Document, spec: &FieldSpec| {
        let mut set = |document: &mut Document, node, path: FieldPath<'_>| {
            expect_scalar(document, node, path, kustomize)?;
            set_scalar(document, node, namespace);
            Ok(())
        };
        apply_spec(document, spec, Creation::Scalar, kustomize, &mut set)
    };
    let is_in_none = match release {
        TransformerRelease::Kyaml0_10_5 => {
            was_cluster_scoped(resource.api_version(), resource.kind())
        }
        TransformerRelease::Kyaml0_10_20 | TransformerRelease::Kyaml0_10_21 => {
            is_cluster_scoped(resource.api_version(), resource.kind())
        }
    };
    let is_binding_itself = is_binding(resource.kind());
    let specs = additional.iter().chain(defaults(release));
    let is_known = |spec: &FieldSpec| {
        spec.path == "metadata/namespace" || (is_binding(&spec.kind) && spec.path == "subjects")
    };
    let specs: Vec<&FieldSpec> = specs
        .filter(|spec| !is_known(spec) && spec.selects(resource))
        .collect();
    release.edit(resource, |document| {
        if !is_in_none {
            set(document, &METADATA_NAMESPACE)?;
        }
        if is_binding_itself {
            let is_default = |_: &str, name: &str| name == "default";
            set_subjects(document, namespace, is_default)?;
        }
        specs.into_iter().try_for_each(|spec| set(document, spec))
    })
}

/// Sets the namespace of the subjects that are service accounts of the package.
fn follow_accounts(
    resource: &mut Resource,
    accounts: &HashSet<String>,
    namespace: &str,
) -> Result<(), FilterError> {
    if accounts.is_empty() || !is_binding(resource.kind()) {
        return Ok(());
    }
    let is_account = |kind: &str, name: &str| kind == "ServiceAccount" && accounts.contains(name);
    set_subjects(resource.document_mut(), namespace, is_account)
}

fn is_binding(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}

fn set_subjects(
    document: &mut Document,
    namespace: &str,
    is_meant: impl Fn(&str, &str) -> bool,
) -> Result<(), FilterError> {
    let subjects = document.root().get("subjects");
    let Some(subjects) = subjects.filter(|subjects| !subjects.is_null()) else {
        return Ok(());
    };
    if !subjects.is_sequence() {
        let subjects = subjects.id();
        let kind = Kind::Sequence;
        return Err(kind_error(
            document,
            subjects,
            kind,
            "subjects",
            KustomizeRelease::Api0_8,
        ));
    }
    for subject in document.child_ids(subjects.id()) {
        if is_stopped() {
            break;
        }
        let node = document.node(subject);
        if node.is_null() {
            continue;
        }
        if !node.is_mapping() {
            return Err(kind_error(
                document,
                subject,
                Kind::Mapping,
                "",
                KustomizeRelease::Api0_8,
            ));
        }
        let text = |key| node.get(key).and_then(|value| value.as_text());
        let name = text("name");
        if !name.is_some_and(|name| is_meant(text("kind").unwrap_or_default(), name)) {
            continue;
        }
        match node.get("namespace").map(|value| value.id()) {
            Some(value) => set_scalar(document, value, namespace),
            None => {
                let key = document.new_scalar("namespace", "");
                let value = document.new_scalar(namespace, "");
                document.push_entry(subject, key, value);
            }
        }
    }
    Ok(())
}

/// Sets the text of a scalar. Its quotes then decide its type.
fn set_scalar(document: &mut Document, node: NodeId, text: &str) {
    let is_quoted = document.node(node).style().is_quoted_or_block();
    document.set_value(node, text);
    document.set_tag(node, if is_quoted { "!!str" } else { "" });
}

fn read(
    config: Option<&Document>,
    release: TransformerRelease,
) -> Result<(String, Vec<FieldSpec>), SetNamespaceConfigError> {
    let wrong_kind = match release {
        TransformerRelease::Kyaml0_10_21 => SetNamespaceConfigError::Kind,
        TransformerRelease::Kyaml0_10_5 | TransformerRelease::Kyaml0_10_20 => {
            SetNamespaceConfigError::FormerKind
        }
    };
    let Some(document) = config else {
        return Err(wrong_kind);
    };
    let meta = Meta::of(document.root());
    let (namespace, additional) = match (meta.api_version, meta.kind, release) {
        ("v1", "ConfigMap", _) => {
            let data = data_map(config);
            let given = data.into_iter().find(|(key, _)| key == "namespace");
            (
                given.map(|(_, value)| value).unwrap_or_default(),
                Vec::new(),
            )
        }
        ("fn.kpt.dev/v1alpha1", "SetNamespaceConfig", _)
        | ("fn.kpt.dev/v1alpha1", "SetNamespace", TransformerRelease::Kyaml0_10_21) => {
            let (value, additional) = read_plugin(document, &PLUGIN, SPECS, release)?;
            (value.field_text("namespace").to_owned(), additional)
        }
        _ => return Err(wrong_kind),
    };
    match namespace.is_empty() {
        true => Err(SetNamespaceConfigError::Empty),
        false => Ok((namespace, additional)),
    }
}

const SPECS: SpecsField = SpecsField {
    name: "additionalNamespaceFields",
    advised: "additionalLabelFields",
};

static PLUGIN: StructShape = StructShape {
    go_type: "main.plugin",
    fields: &[
        FieldShape::new("namespace", ConfigShape::Text),
        FieldShape::new("fieldSpecs", FieldSpec::SHAPE),
        FieldShape::new("additionalNamespaceFields", FieldSpec::SHAPE),
    ],
};

static METADATA_NAMESPACE: FieldSpec = FieldSpec::new("", "", "", "metadata/namespace", true);

const SERVICE: &str = "spec/service/namespace";
const WEBHOOK: &str = "spec/conversion/webhook/clientConfig/service/namespace";

/// Conversion webhooks were added last.
fn defaults(release: TransformerRelease) -> &'static [FieldSpec] {
    let former = DEFAULTS.split_last().map(|(_, former)| former);
    match release {
        TransformerRelease::Kyaml0_10_5 | TransformerRelease::Kyaml0_10_20 => {
            former.unwrap_or(DEFAULTS)
        }
        TransformerRelease::Kyaml0_10_21 => DEFAULTS,
    }
}

static DEFAULTS: &[FieldSpec] = &[
    FieldSpec::new("", "", "Namespace", "metadata/name", true),
    FieldSpec::new("apiregistration.k8s.io", "", "APIService", SERVICE, true),
    FieldSpec::new(
        "apiextensions.k8s.io",
        "",
        "CustomResourceDefinition",
        WEBHOOK,
        false,
    ),
];
