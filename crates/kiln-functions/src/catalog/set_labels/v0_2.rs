//! v0.2 and later.
//!
//! The oddities of the original are kept: every label of every field counts as set, even if it was set before; an
//! error in a pod template is ignored together with the rest of the resource; affinities are looked up in the wrong
//! field and never found.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{NodeId, NodeRef};

use super::kinds;
use crate::budget::is_stopped;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::go_sdk::{
    FieldType, Formatting, StructType, check_struct, field, is_local_config, nested_text, set_text,
    slice, text,
};

pub(super) struct SetLabels {
    pub(super) formatting: Formatting,
}

const CONFIG: StructType = StructType {
    name: "SetLabels",
    fields: &[("labels", FieldType::TextMap)],
};

const METADATA: &[&str] = &["metadata", "labels"];
const SELECTOR: &[&str] = &["selector", "matchLabels"];
const POD_SELECTOR: &[&str] = &["podSelector", "matchLabels"];
const LABEL_SELECTOR: &[&str] = &["labelSelector", "matchLabels"];

/// Whether labels are added to a missing field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Leave,
}

impl Function for SetLabels {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let config = list.config.as_ref().map(|config| config.root());
        let labels = match config {
            Some(config) if is_given(config) => match read_labels(config) {
                Ok(labels) => labels,
                Err(error) => {
                    list.report(Severity::Error, error);
                    return Ending::Failure;
                }
            },
            _ => {
                list.report(Severity::Info, "`FunctionConfig` is not given");
                BTreeMap::new()
            }
        };
        let has_config = list
            .config
            .as_ref()
            .is_some_and(|config| has_identity(config.root()));
        let mut setter = LabelSetter {
            labels: &labels,
            formatting: self.formatting,
            count: 0,
        };
        let is_ours = |resource: &&mut Resource| !is_local_config(resource.root());
        let mut resources = list.items.iter_mut().filter(is_ours).peekable();
        if resources.peek().is_none() {
            list.report(Severity::Info, "no input resources");
            return Ending::Success;
        }
        if !has_config {
            return Ending::Failure;
        }
        if labels.is_empty() {
            drop(resources);
            list.report(
                Severity::Warning,
                "no `labels` arguments are given in FunctionConfig",
            );
            return Ending::Success;
        }
        let mut errors = Vec::new();
        for resource in resources {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            errors.extend(setter.set_in_resource(resource).err());
        }
        let (count, failed) = (setter.count, !errors.is_empty());
        for error in errors {
            list.report(Severity::Error, error.to_string());
        }
        list.report(Severity::Info, format!("set {count} labels in total"));
        match failed {
            true => Ending::Failure,
            false => Ending::Success,
        }
    }
}

/// Whether a configuration is more than the default that kpt passes.
fn is_given(config: NodeRef<'_>) -> bool {
    let is_placeholder = || {
        let data = field(config, "data");
        text(config, &["kind"]) == "ConfigMap"
            && text(config, &["metadata", "name"]) == "function-input"
            && data.is_some_and(|data| data.is_mapping() && data.is_empty())
    };
    !config.is_empty() && !is_placeholder()
}

/// The function itself checks again, with other rules.
fn has_identity(config: NodeRef<'_>) -> bool {
    let (kind, name) = (text(config, &["kind"]), text(config, &["metadata", "name"]));
    match (kind, name) {
        ("ConfigMap", "function-input") => {
            field(config, "data").is_some_and(|data| data.is_mapping() && !data.is_empty())
        }
        ("", "") => false,
        _ => true,
    }
}

fn read_labels(config: NodeRef<'_>) -> Result<BTreeMap<String, String>, String> {
    let (kind, api_version) = (text(config, &["kind"]), text(config, &["apiVersion"]));
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let pairs = match (group, kind) {
        ("", "ConfigMap") => match field(config, "data") {
            Some(data) if !data.is_mapping() => {
                return Err(wrong_field(kind, "map[string]string", ".data"));
            }
            data => data,
        },
        ("fn.kpt.dev", "SetLabels") => {
            check_struct(config, &CONFIG).map_err(|error| {
                format!("unable to convert object to *setlabels.SetLabels with error: {error}")
            })?;
            config.get("labels")
        }
        _ => {
            let group_kind = match group {
                "" => kind.to_owned(),
                group => format!("{kind}.{group}"),
            };
            return Err(format!(
                "unknown FunctionConfig `{group_kind}`, expect `SetLabels.fn.kpt.dev` or `ConfigMap.v1`"
            ));
        }
    };
    let pairs = pairs.into_iter().flat_map(NodeRef::entries);
    Ok(pairs
        .filter(|(_, value)| value.is_scalar())
        .map(|(key, value)| {
            (
                key.value().to_owned(),
                value.as_text().unwrap_or_default().to_owned(),
            )
        })
        .collect())
}

/// The error for a field of the wrong type. `kind` is the kind of the resource.
fn wrong_field(kind: &str, expected: &str, path: &str) -> String {
    format!(
        "Resource(apiVersion=, kind={kind}) has unmatched field type \"{expected}\" in fieldpath {path}"
    )
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UnexpectedLabelType(String);

struct LabelSetter<'a> {
    labels: &'a BTreeMap<String, String>,
    formatting: Formatting,
    count: usize,
}

/// A mapping of a resource, and its path.
#[derive(Clone)]
struct LabelMap {
    node: NodeId,
    path: String,
}

impl LabelSetter<'_> {
    fn set_in_resource(&mut self, resource: &mut Resource) -> Result<(), UnexpectedLabelType> {
        let top = LabelMap {
            node: resource.root().id(),
            path: String::new(),
        };
        self.set(resource, &top, METADATA, Missing::Create)?;
        self.set_in_selectors(resource, &top)?;
        let Some(spec) = inner(resource, &top, "spec") else {
            return Ok(());
        };
        if kinds::has_pod_template(resource.root())
            && let Some(template) = inner(resource, &spec, "template")
            && self.set_in_pod(resource, &template).is_err()
        {
            return Ok(());
        }
        if kinds::is_cron_job(resource.root())
            && let Some(job) = inner(resource, &spec, "jobTemplate")
        {
            self.set_in_job(resource, &job)?;
        }
        if kinds::is_stateful_set(resource.root()) {
            self.set_in_volumes(resource, &spec)?;
        }
        if kinds::is_network_policy(resource.root()) {
            for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
                for rule in items(resource, &spec, rules) {
                    for peer in items(resource, &rule, peers) {
                        self.set(resource, &peer, POD_SELECTOR, Missing::Leave)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn set_in_selectors(
        &mut self,
        resource: &mut Resource,
        top: &LabelMap,
    ) -> Result<(), UnexpectedLabelType> {
        let by_labels = &["spec", "selector", "matchLabels"];
        let root = resource.root();
        let is_network_policy = kinds::is_network_policy(root);
        let selectors = [
            (
                kinds::selects_by_map(root),
                &["spec", "selector"] as &[&str],
                Missing::Create,
            ),
            (kinds::selects_by_labels(root), by_labels, Missing::Create),
            (
                !kinds::selects_by_labels(root) && kinds::may_select_by_labels(root),
                by_labels,
                Missing::Leave,
            ),
            (
                is_network_policy,
                &["spec", "podSelector", "matchLabels"],
                Missing::Leave,
            ),
        ];
        for (is_there, path, missing) in selectors {
            if is_there {
                self.set(resource, top, path, missing)?;
            }
        }
        Ok(())
    }

    fn set_in_pod(
        &mut self,
        resource: &mut Resource,
        pod: &LabelMap,
    ) -> Result<(), UnexpectedLabelType> {
        self.set(resource, pod, METADATA, Missing::Create)?;
        let Some(spec) = inner(resource, pod, "spec") else {
            return Ok(());
        };
        for constraint in items(resource, &spec, "topologySpreadConstraints") {
            self.set(resource, &constraint, LABEL_SELECTOR, Missing::Leave)?;
        }
        Ok(())
    }

    fn set_in_job(
        &mut self,
        resource: &mut Resource,
        job: &LabelMap,
    ) -> Result<(), UnexpectedLabelType> {
        self.set(resource, job, METADATA, Missing::Create)?;
        let Some(spec) = inner(resource, job, "spec") else {
            return Ok(());
        };
        self.set(resource, &spec, SELECTOR, Missing::Leave)?;
        match inner(resource, &spec, "template") {
            Some(template) => self.set_in_pod(resource, &template),
            None => Ok(()),
        }
    }

    fn set_in_volumes(
        &mut self,
        resource: &mut Resource,
        spec: &LabelMap,
    ) -> Result<(), UnexpectedLabelType> {
        let volumes = field(resource.document().node(spec.node), "volumeClaimTemplates");
        if volumes.is_some_and(|volumes| !volumes.is_sequence()) {
            let path = format!("{}.volumeClaimTemplates", spec.path);
            let kind = text(resource.root(), &["kind"]);
            return Err(UnexpectedLabelType(wrong_field(kind, "struct {}", &path)));
        }
        for volume in items(resource, spec, "volumeClaimTemplates") {
            self.set(resource, &volume, METADATA, Missing::Create)?;
            self.set(resource, &volume, SELECTOR, Missing::Leave)?;
        }
        Ok(())
    }

    fn set(
        &mut self,
        resource: &mut Resource,
        place: &LabelMap,
        path: &[&str],
        missing: Missing,
    ) -> Result<(), UnexpectedLabelType> {
        for (key, value) in self.labels {
            if is_stopped() {
                break;
            }
            let mut whole = path.to_vec();
            whole.push(key);
            let old = nested_text(resource.document().node(place.node), &whole);
            let needs_change = match old {
                Ok(Some(old)) => old != value,
                Ok(None) => missing == Missing::Create,
                Err(_) => {
                    let kind = text(resource.root(), &["kind"]);
                    let path = format!("{}.{}", place.path, whole.join("."));
                    return Err(UnexpectedLabelType(wrong_field(kind, "string", &path)));
                }
            };
            if needs_change {
                let document = resource.document_mut();
                let set = set_text(document, place.node, &whole, value, self.formatting);
                set.map_err(|_| {
                    UnexpectedLabelType(format!(
                        "unable to set {value} at fields [{}] with error: wrong type",
                        whole.join(" ")
                    ))
                })?;
            }
            self.count += 1;
        }
        Ok(())
    }
}

fn inner(resource: &Resource, place: &LabelMap, key: &str) -> Option<LabelMap> {
    let value = field(resource.document().node(place.node), key)?;
    Some(LabelMap {
        node: value.id(),
        path: format!("{}.{key}", place.path),
    })
}

/// The mappings in a sequence. As in the original, messages do not contain their paths.
fn items(resource: &Resource, place: &LabelMap, key: &str) -> Vec<LabelMap> {
    let items = slice(resource.document().node(place.node), key);
    let items = items.into_iter().map(|item| LabelMap {
        node: item.id(),
        path: String::new(),
    });
    items.collect()
}
