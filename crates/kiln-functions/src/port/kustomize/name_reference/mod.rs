//! Updates the names of renamed resources in the resources that refer to them.
//!
//! kustomize records the previous names on each resource ([`History`]); a field of the table with such a name gets
//! the new one. Resources are indexed by their previous names, so that the work grows with the number of fields.

mod history;
mod known;
mod table;
#[cfg(test)]
mod tests;

use kiln_krm::Resource;
use kiln_yaml::{Document, Kind, NodeId, NodeRef, Slot};

use super::KustomizeRelease;
use super::path_filter::{Creation, FilterError, apply_spec};
use super::resource_id::{PreviousIdsError, ResourceId};
use crate::budget::is_stopped;
pub(crate) use history::{History, original_id};
use known::{Known, Wanted};
use table::NameReference;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ReferenceError {
    #[error(transparent)]
    Previous(#[from] PreviousIdsError),
    #[error("node-referrerOriginal 'APIVersion' mismatch '{0}' != '{1}'")]
    ApiVersion(String, String),
    #[error("updating name reference in '{path}' field of '{id}': {error}")]
    Field {
        path: String,
        id: String,
        error: FilterError,
    },
}

/// Writes the current names of resources into the fields with previous ones. Returns which resources must be parsed
/// again.
pub(crate) fn fix_references(
    items: &mut [Resource],
    release: KustomizeRelease,
) -> Result<Vec<usize>, ReferenceError> {
    let known = Known::read(items, release)?;
    let mut referrers: Vec<Vec<String>> = vec![Vec::new(); items.len()];
    let mut unsettled = Vec::new();
    let mut outcome = Ok(());
    for (place, resource) in items.iter_mut().enumerate() {
        if is_stopped() {
            break;
        }
        let noted = referrers.get_mut(place).map(std::mem::take);
        let mut history = History::of(resource, release);
        history.note_referrers(&noted.unwrap_or_default());
        let mut found = Vec::new();
        outcome = follow(resource, place, &known, &mut found, release);
        let id = ResourceId::of(resource.root()).former_text();
        for referral in found {
            if !crate::settle::is_surely_plain(known.name(referral)) {
                unsettled.push(place);
            }
            if let Some(noted) = referrers.get_mut(referral) {
                // A resource may have many referrers with long names.
                if kiln_yaml::take_for_good(id.len()) {
                    noted.push(id.clone());
                }
            }
        }
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_err() {
        // If the function fails here, nothing removes these annotations.
        for (resource, noted) in items.iter_mut().zip(&referrers) {
            History::of(resource, release).note_referrers(noted);
        }
    }
    outcome.map(|()| unsettled)
}

/// Replaces the text of a scalar. The style is kept, comments and anchor are removed.
pub(crate) fn overwrite_scalar(document: &mut Document, node: NodeId, text: &str) {
    document.set_value(node, text);
    document.set_tag(node, "");
    for slot in Slot::ALL {
        document.set_comment(node, slot, "");
    }
    if !document.node(node).anchor().is_empty() {
        document.set_anchor(node, "");
    }
}

/// Updates all references of one resource, and adds the indices of their targets.
fn follow(
    resource: &mut Resource,
    place: usize,
    known: &Known,
    found: &mut Vec<usize>,
    release: KustomizeRelease,
) -> Result<(), ReferenceError> {
    let Some(original) = known.original(place) else {
        return Ok(());
    };
    let namespaces = account_namespaces(resource.root());
    for reference in table::references(&original.kind, release) {
        let field = &reference.field;
        let fits = |wanted: &str, given: &str| wanted.is_empty() || wanted == given;
        if !fits(&field.version, &original.version) || !fits(&field.group, &original.group) {
            continue;
        }
        if let Some(version) = resource.api_version().strip_prefix('/') {
            let (given, plain) = (resource.api_version().to_owned(), version.to_owned());
            return Err(ReferenceError::ApiVersion(given, plain));
        }
        let id = ResourceId::of(resource.root()).former_text();
        let mut fix = Fix {
            known,
            place,
            reference,
            namespaces: &namespaces,
            found,
        };
        let mut set = |document: &mut Document, node: NodeId, _: super::FieldPath<'_>| {
            fix.field(document, node)
        };
        let document = resource.document_mut();
        apply_spec(document, field, Creation::Never, release, &mut set).map_err(|error| {
            let path = field.path.to_string();
            ReferenceError::Field { path, id, error }
        })?;
    }
    Ok(())
}

/// The namespaces of the service accounts that a RoleBinding binds.
fn account_namespaces(resource: NodeRef<'_>) -> Vec<String> {
    let is_binding = resource
        .get("kind")
        .is_some_and(|k| k.value() == "RoleBinding");
    let subjects = resource.get("subjects").filter(|_| is_binding);
    let subjects = subjects.into_iter().flat_map(|subjects| subjects.items());
    let is_account = |subject: &NodeRef<'_>| {
        let kind = subject.get("kind");
        kind.is_some_and(|kind| kind.value() == "ServiceAccount")
    };
    let namespaces = subjects
        .filter(is_account)
        .filter_map(|s| s.get("namespace"));
    namespaces
        .map(|namespace| namespace.value().to_owned())
        .collect()
}

/// One reference of one resource.
struct Fix<'f> {
    known: &'f Known,
    place: usize,
    reference: &'static NameReference,
    namespaces: &'f [String],
    found: &'f mut Vec<usize>,
}

impl Fix<'_> {
    fn field(&mut self, document: &mut Document, node: NodeId) -> Result<(), FilterError> {
        let found = document.node(node);
        match found.kind() {
            _ if found.is_null() => Ok(()),
            Kind::Scalar => self.scalar(document, node),
            Kind::Mapping => self.mapping(document, node),
            Kind::Sequence => {
                for item in document.child_ids(node) {
                    if is_stopped() {
                        break;
                    }
                    let found = document.node(item);
                    match found.kind() {
                        _ if found.is_null() => {}
                        Kind::Scalar => self.scalar(document, item)?,
                        Kind::Mapping => self.mapping(document, item)?,
                        Kind::Sequence | Kind::Alias => {
                            return Err(FilterError(
                                "an item is expected to be either a string or a map of string"
                                    .to_owned(),
                            ));
                        }
                    }
                }
                Ok(())
            }
            Kind::Alias => Err(FilterError(
                "node must be a scalar, sequence or map".to_owned(),
            )),
        }
    }

    fn scalar(&mut self, document: &mut Document, node: NodeId) -> Result<(), FilterError> {
        let former = document.node(node).value();
        let Some(referral) = self.select(document, former, None)? else {
            return Ok(());
        };
        let name = self.known.name(referral);
        self.found.push(referral);
        if name != former {
            overwrite_scalar(document, node, name);
        }
        Ok(())
    }

    fn mapping(&mut self, document: &mut Document, node: NodeId) -> Result<(), FilterError> {
        let mapping = document.node(node);
        let value = |key| {
            let mut entries = mapping.entries();
            let entry = entries.find(|(given, _)| given.value() == key);
            entry.map(|(_, value)| value)
        };
        let Some(name_node) = value("name") else {
            let text = "path config error; no 'name' field in node";
            return Err(FilterError(text.to_owned()));
        };
        let namespace_node = value("namespace");
        let (former, former_namespace) = (name_node.value(), namespace_node.map(NodeRef::value));
        let Some(referral) = self.select(document, former, former_namespace)? else {
            return Ok(());
        };
        let (name, namespace) = (self.known.name(referral), self.known.namespace(referral));
        self.found.push(referral);
        if name == former && namespace.is_empty() {
            return Ok(());
        }
        let (name_node, namespace_node) = (name_node.id(), namespace_node.map(NodeRef::id));
        overwrite_scalar(document, name_node, name);
        match namespace_node {
            _ if namespace.is_empty() => {}
            Some(namespace_node) => overwrite_scalar(document, namespace_node, namespace),
            None => {
                let key = document.new_scalar("namespace", "");
                let value = document.new_scalar(namespace, "");
                document.push_entry(node, key, value);
            }
        }
        Ok(())
    }

    fn select(
        &self,
        document: &Document,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Option<usize>, FilterError> {
        let is_role = self.reference.field.path.ends_with("roleRef/name");
        let wanted = Wanted {
            name,
            namespace,
            target: &self.reference.target,
            role: is_role.then(|| role(document.root())).flatten(),
            account_namespaces: self.namespaces,
        };
        self.known.select(self.place, &wanted).map_err(|ids| {
            let ids = ids.join(", ");
            FilterError(format!(" found multiple possible referrals: {ids}"))
        })
    }
}

/// The type of a binding's `roleRef`, as a selector.
fn role(resource: NodeRef<'_>) -> Option<ResourceId> {
    let role = resource.get("roleRef")?;
    let text = |key| role.get(key).filter(|value| !value.is_null());
    Some(ResourceId {
        group: text("apiGroup")?.value().to_owned(),
        kind: text("kind")?.value().to_owned(),
        ..ResourceId::default()
    })
}
