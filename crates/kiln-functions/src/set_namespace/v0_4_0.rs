//! The function in versions 0.4.0 and 0.4.1, which most packages name.
//!
//! It writes the namespace of webhooks and API services even where there is no service, rewrites the subjects of role
//! bindings from scratch, and reports resources that have become the same without failing.

use std::collections::{BTreeSet, HashSet};

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{Document, NodeId, NodeRef};

use super::depends_on::{DEPENDS_ON, Reference};
use crate::function::{Context, Ending, Function, FunctionList};
use crate::sdk::go::{
    Formatting, field, is_local_config, is_namespace_scoped, nested_text, set_text, slice, text,
};

pub(super) struct SetNamespace;

const WEBHOOK: &[&str] = &[
    "spec",
    "conversion",
    "webhook",
    "clientConfig",
    "service",
    "namespace",
];

impl Function for SetNamespace {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let config = list.config.as_ref().map(|config| config.root());
        let namespace = match read_config(config) {
            Ok(namespace) => namespace,
            Err(error) => {
                list.report(Severity::Error, error);
                return Ending::Failure;
            }
        };
        let mut change = Change {
            namespace: &namespace,
            old: BTreeSet::new(),
            count: 0,
        };
        let is_ours = |resource: &&mut Resource| !is_local_config(resource.root());
        let mut resources = list.items.iter_mut().filter(is_ours);
        if let Err(Misfit(path)) = resources.try_for_each(|resource| change.visit(resource)) {
            // The backquote is never closed.
            let error = format!("SubObject has unmatched field type: `{path}");
            list.report(Severity::Error, error.clone());
            return Ending::Error(error);
        }
        let Change { old, count, .. } = change;
        update_references(&mut list.items, &namespace, &old);
        let (severity, message) = match duplicate(&list.items) {
            Some(duplicate) => (Severity::Error, duplicate),
            None => (Severity::Info, summary(&old, count, &namespace)),
        };
        list.report(severity, message);
        Ending::Success
    }
}

fn read_config(config: Option<NodeRef<'_>>) -> Result<String, String> {
    let Some(config) = config.filter(|config| !config.is_empty()) else {
        return Err("FunctionConfig is missing. Expect `ConfigMap` or `SetNamespace`".to_owned());
    };
    let (api_version, kind) = (text(config, &["apiVersion"]), text(config, &["kind"]));
    let not_empty = |field: &str, value: &str| match value {
        "" => Err(format!("`{field}` should not be empty")),
        value => Ok(value.to_owned()),
    };
    match (api_version, kind) {
        ("v1", "ConfigMap") => match text(config, &["data", "namespace"]) {
            "" if text(config, &["metadata", "name"]) == "kptfile.kpt.dev" => {
                not_empty("data.name", text(config, &["data", "name"]))
            }
            namespace => not_empty("data.namespace", namespace),
        },
        ("fn.kpt.dev/v1alpha1", "SetNamespace") => {
            not_empty("namespace", text(config, &["namespace"]))
        }
        _ => Err(format!(
            "unknown functionConfig Kind={kind} ApiVersion={api_version}, expect `SetNamespace` or `ConfigMap`"
        )),
    }
}

struct Change<'a> {
    namespace: &'a str,
    old: BTreeSet<String>,
    count: usize,
}

impl Change<'_> {
    fn visit(&mut self, resource: &mut Resource) -> Result<(), Misfit> {
        let root = resource.root();
        let top = root.id();
        match (text(root, &["apiVersion"]), text(root, &["kind"])) {
            ("v1", "Namespace") => self.set(resource, top, &["metadata", "name"])?,
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {
                self.set(resource, top, WEBHOOK)?;
            }
            ("apiregistration.k8s.io/v1", "APIService") => {
                self.set(resource, top, &["spec", "service", "namespace"])?;
            }
            (_, "ClusterRoleBinding" | "RoleBinding") => self.visit_subjects(resource)?,
            _ => {}
        }
        match is_namespace_scoped(resource.root()) {
            true => self.set(resource, top, &["metadata", "namespace"]),
            false => Ok(()),
        }
    }

    fn visit_subjects(&mut self, resource: &mut Resource) -> Result<(), Misfit> {
        let subjects = slice(resource.root(), "subjects").into_iter();
        let subjects: Vec<(NodeId, bool)> = subjects
            .map(|subject| (subject.id(), field(subject, "namespace").is_some()))
            .collect();
        for (subject, has_namespace) in &subjects {
            if *has_namespace {
                self.set(resource, *subject, &["namespace"])?;
            }
        }
        let document = resource.document_mut();
        let rewritten = document.new_sequence_node();
        for (subject, _) in subjects {
            let plain = plain_copy(document, subject);
            document.push_item(rewritten, plain);
        }
        let root = document.root();
        match field(root, "subjects").map(|old| (root.id(), old.id())) {
            Some((root, old)) => {
                document.replace_child(root, old, rewritten);
            }
            None => {
                let root = root.id();
                let key = document.new_string("subjects");
                document.push_entry(root, key, rewritten);
            }
        }
        Ok(())
    }

    fn set(&mut self, resource: &mut Resource, node: NodeId, path: &[&str]) -> Result<(), Misfit> {
        let misfit = |_| Misfit(path.join("/"));
        let current = nested_text(resource.document().node(node), path).map_err(misfit)?;
        let current = current.unwrap_or_default();
        if current != self.namespace {
            self.old.insert(current.to_owned());
            self.count += 1;
        }
        let document = resource.document_mut();
        set_text(document, node, path, self.namespace, Formatting::Comments).map_err(misfit)
    }
}

/// Where something is not of the type it should be of.
struct Misfit(String);

/// A mapping of texts as Go writes one: keys in order, no comments, no styles. What is deeper goes along as it is.
fn plain_copy(document: &mut Document, mapping: NodeId) -> NodeId {
    let entries = document.node(mapping).entries();
    let mut entries: Vec<(String, NodeId)> = entries
        .map(|(key, value)| (key.value().to_owned(), value.id()))
        .collect();
    entries.sort();
    let copy = document.new_mapping_node();
    for (key, value) in entries {
        let node = document.node(value);
        let value = match node.is_scalar() {
            true => {
                let (text, tag) = (node.value().to_owned(), node.tag().to_owned());
                document.new_scalar(&text, &tag)
            }
            false => value,
        };
        let key = document.new_string(&key);
        document.push_entry(copy, key, value);
    }
    copy
}

/// References to resources of the package that were in one of the old namespaces. The core group is called `v1` here, so
/// that references to its resources are never found.
fn update_references(items: &mut [Resource], namespace: &str, old: &BTreeSet<String>) {
    let known_as = |resource: &Resource| {
        let root = resource.root();
        let api_version = text(root, &["apiVersion"]);
        let group = api_version.split('/').next().unwrap_or_default();
        [
            group,
            text(root, &["kind"]),
            text(root, &["metadata", "name"]),
        ]
        .join("/")
    };
    let is_ours = |resource: &&Resource| {
        let root = resource.root();
        !is_local_config(root) && has_namespace_field(root)
    };
    let known: HashSet<String> = items.iter().filter(is_ours).map(known_as).collect();
    for resource in items {
        if !is_ours(&&*resource) {
            continue;
        }
        let value = resource.annotation(DEPENDS_ON).unwrap_or_default();
        let Some(reference) = Reference::parse(value) else {
            continue;
        };
        let key = [reference.group, reference.kind, reference.name].join("/");
        if known.contains(&key) && old.contains(reference.namespace) {
            let moved = reference.moved_to(namespace);
            let top = resource.root().id();
            let path = ["metadata", "annotations", DEPENDS_ON];
            // Cannot fail: the annotation is there.
            let _ = set_text(
                resource.document_mut(),
                top,
                &path,
                &moved,
                Formatting::Comments,
            );
        }
    }
}

/// Whether the function finds anything to set in a resource; what it does not visit nobody depends on.
fn has_namespace_field(root: NodeRef<'_>) -> bool {
    let is_special = match (text(root, &["apiVersion"]), text(root, &["kind"])) {
        ("v1", "Namespace")
        | ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        | ("apiregistration.k8s.io/v1", "APIService") => true,
        (_, "ClusterRoleBinding" | "RoleBinding") => {
            let subjects = slice(root, "subjects");
            let mut subjects = subjects.into_iter();
            subjects.any(|subject| field(subject, "namespace").is_some())
        }
        _ => false,
    };
    is_special || is_namespace_scoped(root)
}

fn duplicate(items: &[Resource]) -> Option<String> {
    let mut seen = HashSet::new();
    items.iter().find_map(|resource| {
        let id = resource.id();
        let meta = resource.meta();
        let text = format!(
            "duplicate Resource(apiVersion={}, kind={}, Namespace={}, Name={})",
            meta.api_version, meta.kind, meta.namespace, meta.name
        );
        (!seen.insert(id)).then_some(text)
    })
}

/// The original has the old namespaces in no order; here they are sorted.
fn summary(old: &BTreeSet<String>, count: usize, namespace: &str) -> String {
    let namespace = kiln_krm::gotext::quote(namespace);
    if count == 0 {
        return format!("all namespaces are already {namespace}. no value changed");
    }
    let old: Vec<String> = old.iter().map(|old| format!("\"{old}\"")).collect();
    let old = old.join(",");
    format!("namespace {old} updated to {namespace}, {count} value(s) changed")
}
