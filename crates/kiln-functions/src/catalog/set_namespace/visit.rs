//! The fields that the function sets before v0.4.2, and how it writes them.
//!
//! It sets the namespace of webhooks and APIServices even if there is no service, and writes the subjects of role
//! bindings from scratch. Written values lose their style, whether they changed or not.

use kiln_krm::Resource;
use kiln_yaml::{Document, NodeId, NodeRef};

use crate::budget::is_stopped;
use crate::port::go_sdk::{Formatting, field, nested_text, set_text, slice, text};
use crate::port::kustomize::round_trip;

/// The fields that a release sets.
pub(super) struct NamespaceFields {
    /// Whether to set the subjects of RoleBindings, in addition to those of ClusterRoleBindings.
    pub(super) role_bindings: bool,
    /// Whether `metadata.namespace` is set in resources that have one of the other fields.
    pub(super) both: bool,
    /// Whether a resource has `metadata.namespace`.
    pub(super) is_scoped: fn(NodeRef<'_>) -> bool,
}

/// The path of a value of the wrong type.
pub(super) struct UnexpectedType(pub(super) String);

pub(super) struct FoundNamespace<'a> {
    pub(super) namespace: &'a str,
    /// Whether it is the name of a Namespace.
    pub(super) is_of_namespace: bool,
}

/// The type of one of the other fields.
enum Special {
    None,
    Path(&'static [&'static str]),
    Subjects,
}

const NAME: &[&str] = &["metadata", "name"];
const NAMESPACE: &[&str] = &["metadata", "namespace"];
const API_SERVICE: &[&str] = &["spec", "service", "namespace"];
const WEBHOOK: &[&str] = &[
    "spec",
    "conversion",
    "webhook",
    "clientConfig",
    "service",
    "namespace",
];

impl NamespaceFields {
    /// Sets each field to the value that `decide` returns.
    pub(super) fn visit(
        &self,
        resource: &mut Resource,
        decide: &mut dyn FnMut(FoundNamespace<'_>) -> String,
    ) -> Result<(), UnexpectedType> {
        if is_stopped() {
            return Ok(());
        }
        let top = resource.root().id();
        let special = self.special(resource.root());
        match special {
            Special::None => {}
            Special::Path(path) => set(resource, top, path, decide)?,
            Special::Subjects => visit_subjects(resource, decide)?,
        }
        let is_ordinary = self.both || matches!(special, Special::None);
        match is_ordinary && (self.is_scoped)(resource.root()) {
            true => set(resource, top, NAMESPACE, decide),
            false => Ok(()),
        }
    }

    /// Whether a resource has one of the fields.
    pub(super) fn has_any(&self, root: NodeRef<'_>) -> bool {
        let special = self.special(root);
        let is_special = match special {
            Special::None => false,
            Special::Path(_) => true,
            Special::Subjects => {
                let mut subjects = slice(root, "subjects").into_iter();
                subjects.any(|subject| field(subject, "namespace").is_some())
            }
        };
        let is_ordinary = self.both || matches!(special, Special::None);
        is_special || is_ordinary && (self.is_scoped)(root)
    }

    fn special(&self, root: NodeRef<'_>) -> Special {
        match (text(root, &["apiVersion"]), text(root, &["kind"])) {
            ("v1", "Namespace") => Special::Path(NAME),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => Special::Path(WEBHOOK),
            ("apiregistration.k8s.io/v1", "APIService") => Special::Path(API_SERVICE),
            (_, "ClusterRoleBinding") => Special::Subjects,
            (_, "RoleBinding") if self.role_bindings => Special::Subjects,
            _ => Special::None,
        }
    }
}

fn visit_subjects(
    resource: &mut Resource,
    decide: &mut dyn FnMut(FoundNamespace<'_>) -> String,
) -> Result<(), UnexpectedType> {
    let subjects = slice(resource.root(), "subjects").into_iter();
    let subjects: Vec<(NodeId, bool)> = subjects
        .map(|subject| (subject.id(), field(subject, "namespace").is_some()))
        .collect();
    for (subject, has_namespace) in &subjects {
        if is_stopped() {
            return Ok(());
        }
        if *has_namespace {
            set(resource, *subject, &["namespace"], decide)?;
        }
    }
    let document = resource.document_mut();
    let rewritten = document.new_sequence_node();
    for (subject, _) in subjects {
        if is_stopped() {
            return Ok(());
        }
        let plain = Document::from_node(document.node(subject));
        // A value that JSON cannot represent is not changed.
        let plain = round_trip(&plain).unwrap_or(plain);
        let plain = document.import(plain.root());
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

fn set(
    resource: &mut Resource,
    node: NodeId,
    path: &[&str],
    decide: &mut dyn FnMut(FoundNamespace<'_>) -> String,
) -> Result<(), UnexpectedType> {
    let misfit = |_| UnexpectedType(path.join("/"));
    let is_of_namespace = resource.api_version() == "v1" && resource.kind() == "Namespace";
    let current = nested_text(resource.document().node(node), path).map_err(misfit)?;
    let namespace = decide(FoundNamespace {
        namespace: current.unwrap_or_default(),
        is_of_namespace,
    });
    let document = resource.document_mut();
    set_text(document, node, path, &namespace, Formatting::Comments).map_err(misfit)
}
