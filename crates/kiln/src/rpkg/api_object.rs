//! Package revisions as objects of Porch's API.

use jiff::Timestamp;
use kiln_krm::kptfile::{Condition, Locator};
use kiln_task::git::{LastChanges, Revision, RevisionNumber, Tasks};
use kiln_task::{Lifecycle, Repository, Task};
use serde_json::{Map, Value, json};
use sha1::{Digest, Sha1};

pub(crate) const API_VERSION: &str = "porch.kpt.dev/v1alpha1";

/// The `PackageRevision` of a revision. The publisher of a package on a branch is the author of its last change.
pub(crate) fn package_revision(
    repository: &Repository,
    revision: &Revision,
    tasks: &Tasks,
    changes: &LastChanges,
) -> Value {
    let kptfile = revision.kptfile();
    let mut metadata = metadata(repository, revision);
    if revision.is_latest {
        metadata.insert(
            "labels".to_owned(),
            json!({"kpt.dev/latest-revision": "true"}),
        );
    }
    let mut spec = Map::new();
    spec.insert("lifecycle".to_owned(), json!(revision.lifecycle.as_str()));
    let package = &revision.name.package.path;
    spec.insert("packageName".to_owned(), json!(package));
    spec.insert("repository".to_owned(), json!(repository.config.name));
    spec.insert("workspaceName".to_owned(), json!(revision.name.workspace));
    if revision.number != RevisionNumber::Unpublished {
        spec.insert("revision".to_owned(), json!(revision.number.as_i64()));
    }
    let info = kptfile.info.unwrap_or_default();
    let gates: Vec<Value> = info
        .readiness_gates
        .iter()
        .map(|gate| json!({"conditionType": gate.condition_type}))
        .collect();
    if !gates.is_empty() {
        spec.insert("readinessGates".to_owned(), json!(gates));
    }
    let mut package_metadata = Map::new();
    for (key, map) in [
        ("annotations", &kptfile.metadata.annotations),
        ("labels", &kptfile.metadata.labels),
    ] {
        if !map.is_empty() {
            package_metadata.insert(key.to_owned(), json!(map));
        }
    }
    if !package_metadata.is_empty() {
        spec.insert(
            "packageMetadata".to_owned(),
            Value::Object(package_metadata),
        );
    }
    let first = tasks.first(&revision.directory, &revision.name.workspace);
    if let Some(task) = first.and_then(task_value) {
        spec.insert("tasks".to_owned(), json!([task]));
    }
    let mut status = Map::new();
    let conditions = kptfile.status.unwrap_or_default().conditions;
    if !conditions.is_empty() {
        let conditions: Vec<Value> = conditions.iter().map(condition).collect();
        status.insert("conditions".to_owned(), json!(conditions));
    }
    if repository.config.deployment {
        status.insert("deployment".to_owned(), json!(true));
    }
    let author = revision.author.as_ref();
    let author = author.or_else(|| changes.get(&revision.directory));
    if let (Lifecycle::Published | Lifecycle::DeletionProposed, Some((author, time))) =
        (revision.lifecycle, author)
    {
        status.insert("publishedBy".to_owned(), json!(author.email));
        if let Ok(time) = Timestamp::from_second(*time) {
            status.insert("publishTimestamp".to_owned(), json!(time.to_string()));
        }
    }
    if let Some(lock) = kptfile.upstream_lock.as_ref().and_then(locator) {
        status.insert("upstreamLock".to_owned(), lock);
    }
    let (_, own) = repository.locks(revision);
    status.extend(locator(&own).map(|lock| ("selfLock".to_owned(), lock)));
    json!({
        "apiVersion": API_VERSION,
        "kind": "PackageRevision",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

/// The object's metadata. `resourceVersion` is the commit.
pub(crate) fn metadata(repository: &Repository, revision: &Revision) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(revision.name.to_string()));
    let namespace = &repository.config.namespace;
    metadata.insert("namespace".to_owned(), json!(namespace));
    metadata.insert(
        "uid".to_owned(),
        json!(uid(namespace, &revision.name.to_string())),
    );
    metadata.insert(
        "resourceVersion".to_owned(),
        json!(revision.commit.as_str()),
    );
    let time = revision.author.as_ref();
    if let Some(Ok(time)) = time.map(|(_, time)| Timestamp::from_second(*time)) {
        metadata.insert("creationTimestamp".to_owned(), json!(time.to_string()));
    }
    metadata
}

/// Porch's id of a revision: a version 5 UUID in Porch's own namespace.
fn uid(namespace: &str, name: &str) -> String {
    const SPACE: [u8; 16] = [
        0xaa, 0xc7, 0x1d, 0x91, 0x5c, 0x67, 0x45, 0x6f, 0x8f, 0xd2, 0x90, 0x2e, 0xf6, 0xda, 0x82,
        0x0e,
    ];
    let text = format!("packagerevision:{API_VERSION}/{namespace}/{name}").to_lowercase();
    let mut hash = Sha1::new();
    hash.update(SPACE);
    hash.update(text);
    let mut id = String::new();
    for (index, byte) in hash.finalize().iter().take(16).enumerate() {
        let byte = match index {
            6 => byte & 0x0f | 0x50,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        if matches!(index, 4 | 6 | 8 | 10) {
            id.push('-');
        }
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

fn task_value(task: &Task) -> Option<Value> {
    serde_json::to_value(task).ok()
}

fn condition(condition: &Condition) -> Value {
    let mut value = Map::new();
    let fields = [
        ("type", &condition.kind),
        ("status", &condition.status),
        ("reason", &condition.reason),
        ("message", &condition.message),
    ];
    for (key, text) in fields {
        if !text.is_empty() {
            value.insert(key.to_owned(), json!(text));
        }
    }
    Value::Object(value)
}

fn locator(locator: &Locator) -> Option<Value> {
    let git = locator.git.as_ref()?;
    Some(json!({
        "type": locator.kind,
        "git": {
            "repo": git.repo,
            "directory": git.directory,
            "ref": git.git_ref,
            "commit": git.commit,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::uid;

    /// The id that a Porch server returned.
    #[test]
    fn ids_equal_those_of_porch() {
        assert_eq!(
            uid("rpkg-init", "git.init-package.init-1"),
            "45ee0692-730a-51b2-9a1d-ad4f4ad55dc8"
        );
    }
}
