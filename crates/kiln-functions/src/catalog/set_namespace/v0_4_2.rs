//! v0.4.2 and later.
//!
//! Types that are not in the SDK's table are namespaced only if they have a namespace. The subjects of a RoleBinding
//! are never changed, those of a ClusterRoleBinding are.

use std::collections::{BTreeSet, HashSet};

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{Document, NodeId, NodeRef};

use super::config::{self, SetNamespaceConfig};
use super::depends_on::DependsOnReference;
use crate::budget::is_stopped;
use crate::catalog::depends_on::DEPENDS_ON;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::go_sdk::{
    DEFAULT_NAMESPACE, Formatting, UNKNOWN_NAMESPACE, UPSTREAM_IDENTIFIER, about_object, identity,
    is_gvk, is_local_config, is_namespace_scoped, nested_text, origin, set_text, short_text, slice,
    text,
};

/// The function, with the differences between its releases.
pub(super) struct SetNamespaceV0_4_2 {
    pub(super) formatting: Formatting,
    /// Whether all resources must come from one upstream namespace, with a warning for those without an origin.
    pub(super) asks_for_origins: bool,
    pub(super) fails_without_config: bool,
    pub(super) webhooks: Webhooks,
}

/// When the namespace of the service of a webhook or an APIService is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Webhooks {
    /// Even if there is no service.
    Always,
    /// If the service has a name.
    IfNamed,
}

const WEBHOOK: &[&str] = &["spec", "conversion", "webhook", "clientConfig", "service"];
const API_SERVICE: &[&str] = &["spec", "service"];

impl Function for SetNamespaceV0_4_2 {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let nothing = Document::new_mapping();
        let config = list.config.as_ref().unwrap_or(&nothing).root();
        let config = match config::read(config) {
            Ok(config) => config,
            Err(error) => {
                let result = about_object(Severity::Error, error, config);
                list.results.push(result);
                return match self.fails_without_config {
                    true => Ending::Failure,
                    false => Ending::Success,
                };
            }
        };
        let is_ours = |resource: &&mut Resource| !is_local_config(resource.root());
        let mut resources: Vec<&mut Resource> = list.items.iter_mut().filter(is_ours).collect();
        let reported = match self.asks_for_origins {
            true => check_origins(&resources, config.matcher.is_none()),
            false => Ok(Vec::new()),
        };
        let mut results = match reported {
            Ok(warnings) => warnings,
            Err(OriginError::Refused(error)) => {
                list.report(Severity::Error, error);
                return Ending::Success;
            }
            Err(OriginError::Unreadable(error)) => {
                list.report(Severity::Error, error.clone());
                return Ending::Error(error);
            }
        };
        results.extend(self.replace(&mut resources, &config));
        for (severity, message) in results {
            list.report(severity, message);
        }
        Ending::Success
    }
}

enum OriginError {
    /// The origins differ; the function reports it and succeeds.
    Refused(String),
    /// An origin cannot be parsed; the function fails.
    Unreadable(String),
}

type Reports = Vec<(Severity, String)>;

/// Warns about resources without an origin. All others must come from one namespace, unless a matcher is given.
fn check_origins(resources: &[&mut Resource], must_agree: bool) -> Result<Reports, OriginError> {
    let mut warnings = Vec::new();
    let mut namespaces = BTreeSet::new();
    for resource in resources {
        if is_stopped() {
            break;
        }
        let root = resource.root();
        let upstream = text(root, &["metadata", "annotations", UPSTREAM_IDENTIFIER]);
        if upstream.is_empty() {
            let message = format!("{} does not have upstream origin.", short_text(root));
            warnings.push((Severity::Warning, message));
            continue;
        }
        let Some(origin) = origin(root) else {
            return Err(OriginError::Unreadable(format!(
                "annotation {UPSTREAM_IDENTIFIER}: {} is in bad format. expect \"<GROUP>|<KIND>|<NAMESPACE>|<NAME>\"",
                upstream.trim()
            )));
        };
        if !is_namespace_scoped(root) {
            continue;
        }
        if origin.namespace == UNKNOWN_NAMESPACE {
            return Err(OriginError::Refused(format!(
                "{} is namespace-scoped, but has cluster-scoped or unknown scoepd origin {}|{}|{}|{}",
                short_text(root),
                origin.group,
                origin.kind,
                origin.namespace,
                origin.name
            )));
        }
        namespaces.insert(origin.namespace);
    }
    if must_agree && namespaces.len() > 1 {
        return Err(OriginError::Refused(format!(
            "unable to use origin `namespace` to match. expect a single upstream namespace, found {}. please switch to use `namespaceMatcher`to specify the namespace value you want to change",
            go_list(&namespaces)
        )));
    }
    Ok(warnings)
}

/// A set in the format in which Go prints it.
fn go_list<T: AsRef<str>>(texts: &BTreeSet<T>) -> String {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    format!("[{}]", texts.join(" "))
}

impl SetNamespaceV0_4_2 {
    fn replace(&self, resources: &mut [&mut Resource], config: &SetNamespaceConfig) -> Reports {
        let known: HashSet<String> = resources
            .iter()
            .filter_map(|resource| known_as(resource.root()))
            .collect();
        let mut change = NamespaceChange {
            config,
            formatting: self.formatting,
            old: BTreeSet::new(),
            count: 0,
            reports: Vec::new(),
        };
        let scopes: Vec<bool> = resources
            .iter()
            .map(|resource| is_namespace_scoped(resource.root()))
            .collect();
        for (resource, _) in resources
            .iter_mut()
            .zip(&scopes)
            .filter(|(_, scoped)| !**scoped)
        {
            if is_stopped() {
                break;
            }
            self.visit_cluster_scoped(resource, &mut change);
        }
        for (resource, _) in resources
            .iter_mut()
            .zip(&scopes)
            .filter(|(_, scoped)| **scoped)
        {
            if is_stopped() {
                break;
            }
            let root = resource.root();
            let top = root.id();
            let current = text(root, &["metadata", "namespace"]).to_owned();
            let from = origin(root).map_or(UNKNOWN_NAMESPACE, |origin| origin.namespace);
            let new = change.decide(from, &current, || short_text(root));
            change.set(resource, top, &["metadata", "namespace"], &new);
        }
        let NamespaceChange {
            old,
            count,
            mut reports,
            ..
        } = change;
        reports.push((Severity::Info, summary(&old, count, &config.namespace)));
        reports.push((
            Severity::Info,
            self.update_references(resources, &known, config),
        ));
        reports
    }

    fn visit_cluster_scoped(&self, resource: &mut Resource, change: &mut NamespaceChange<'_>) {
        let root = resource.root();
        let top = root.id();
        if is_gvk(root, "", "v1", "Namespace") {
            let current = text(root, &["metadata", "name"]).to_owned();
            let from = origin(root).map_or("", |origin| origin.name);
            let new = change.decide(from, &current, || short_text(root));
            change.set(resource, top, &["metadata", "name"], &new);
        } else if is_gvk(
            root,
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        ) {
            let converts = text(root, &["spec", "conversion", "strategy"]) == "Webhook";
            self.visit_service(resource, WEBHOOK, converts, change);
        } else if is_gvk(root, "apiregistration.k8s.io", "v1", "APIService") {
            self.visit_service(resource, API_SERVICE, true, change);
        } else if matches!(text(root, &["kind"]), "ClusterRoleBinding" | "RoleBinding") {
            let subjects = slice(root, "subjects").into_iter();
            let subjects: Vec<(NodeId, String)> = subjects
                .filter_map(|subject| {
                    let namespace = match nested_text(subject, &["namespace"]) {
                        Ok(namespace) => namespace?,
                        Err(_) => "",
                    };
                    Some((subject.id(), namespace.to_owned()))
                })
                .collect();
            for (subject, current) in subjects {
                if is_stopped() {
                    break;
                }
                let new = change.decide("", &current, String::new);
                change.set(resource, subject, &["namespace"], &new);
            }
        }
    }

    fn visit_service(
        &self,
        resource: &mut Resource,
        path: &[&str],
        is_used: bool,
        change: &mut NamespaceChange<'_>,
    ) {
        let root = resource.root();
        let at = |key| [path, &[key]].concat();
        let is_named = !text(root, &at("name")).is_empty();
        if self.webhooks == Webhooks::IfNamed && !(is_used && is_named) {
            return;
        }
        let top = root.id();
        let current = text(root, &at("namespace")).to_owned();
        let new = change.decide("", &current, String::new);
        change.set(resource, top, &at("namespace"), &new);
    }

    /// Updates references to resources whose namespace changed.
    fn update_references(
        &self,
        resources: &mut [&mut Resource],
        known: &HashSet<String>,
        config: &SetNamespaceConfig,
    ) -> String {
        let new = config.namespace.as_str();
        let mut old = BTreeSet::new();
        let mut count = 0;
        for resource in resources {
            if is_stopped() {
                break;
            }
            let annotations = resource.root().get_path(&["metadata", "annotations"]);
            let value = annotations.and_then(|annotations| annotations.get(DEPENDS_ON));
            let value = value.and_then(NodeRef::as_text).unwrap_or_default();
            let Some(reference) =
                DependsOnReference::parse(value).filter(|_| known.contains(value))
            else {
                continue;
            };
            let fits = |matcher: &String| *matcher == reference.namespace;
            if reference.namespace == new || !config.matcher.as_ref().is_none_or(fits) {
                continue;
            }
            let moved = reference.moved_to(new);
            old.insert(reference.namespace.to_owned());
            count += 1;
            let top = resource.root().id();
            let path = ["metadata", "annotations", DEPENDS_ON];
            let document = resource.document_mut();
            // Cannot fail: the annotation is there.
            let _ = set_text(document, top, &path, &moved, self.formatting);
        }
        match count {
            0 => "all `depends-on` annotations are up-to-date. no `namespace` changed".to_owned(),
            count => format!(
                "`depends-on` annotation namespace {} updated to {}, {count} value(s) changed",
                go_list(&old),
                kiln_go::quote(new)
            ),
        }
    }
}

/// How `depends-on` refers to a resource, if it is namespaced.
fn known_as(resource: NodeRef<'_>) -> Option<String> {
    let id = identity(resource);
    let reference = DependsOnReference {
        group: id.group,
        namespace: id.namespace,
        kind: id.kind,
        name: id.name,
    };
    (id.namespace != UNKNOWN_NAMESPACE).then(|| reference.moved_to(id.namespace))
}

fn summary(old: &BTreeSet<String>, count: usize, new: &str) -> String {
    let new = kiln_go::quote(new);
    match count {
        0 => format!("all matching namespaces are already {new}. no value changed"),
        count => format!(
            "namespace {} updated to {new}, {count} value(s) changed",
            go_list(old)
        ),
    }
}

/// The change, and what has been changed so far.
struct NamespaceChange<'a> {
    config: &'a SetNamespaceConfig,
    formatting: Formatting,
    old: BTreeSet<String>,
    count: usize,
    reports: Reports,
}

impl NamespaceChange<'_> {
    /// The namespace that replaces `current` in a resource with the upstream namespace `origin`.
    fn decide(&mut self, origin: &str, current: &str, name: impl Fn() -> String) -> String {
        if origin == UNKNOWN_NAMESPACE {
            return current.to_owned();
        }
        let current = match current {
            "" => DEFAULT_NAMESPACE,
            current => current,
        };
        let new = self.config.namespace.as_str();
        if current == new {
            return current.to_owned();
        }
        if let Some(matcher) = &self.config.matcher {
            if matcher == origin {
                let message = format!("[{}] has matching origin {origin}", name());
                self.reports.push((Severity::Info, message));
            }
            if matcher != current && matcher != origin {
                return current.to_owned();
            }
        }
        self.old.insert(current.to_owned());
        self.count += 1;
        new.to_owned()
    }

    fn set(&self, resource: &mut Resource, node: NodeId, path: &[&str], value: &str) {
        let is_set = nested_text(resource.document().node(node), path) == Ok(Some(value));
        if is_set && self.formatting == Formatting::CommentsAndStyle {
            return;
        }
        // A value of the wrong type is not changed.
        let _ = set_text(resource.document_mut(), node, path, value, self.formatting);
    }
}
