//! The metadata of a package revision in its Kptfile.

use kiln_krm::EditableText;
use kiln_krm::kptfile::change::{
    MetadataMap, Others, set_conditions, set_metadata, set_name, set_readiness_gates, set_upstream,
    set_upstream_lock,
};
use kiln_krm::kptfile::{Condition, FILE_NAME, Locator, Upstream};
use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use crate::contents::{Contents, ContentsError, PackagePath};

/// New metadata. A field that is `None` stays unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackageMetadata {
    pub labels: Option<Vec<(String, String)>>,
    pub annotations: Option<Vec<(String, String)>>,
    /// The types of conditions that must be true before the revision is proposed or approved.
    pub readiness_gates: Option<Vec<String>>,
    pub conditions: Option<Vec<Condition>>,
}

/// How new metadata is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetadataUpdate {
    /// For a new revision: adds labels and annotations, and ignores conditions.
    Create,
    /// For an existing revision: replaces everything.
    Replace,
}

#[derive(Debug, thiserror::Error)]
pub enum KptfileChangeError {
    #[error("failed to parse Kptfile: file \"Kptfile\" is missing from the package")]
    Missing,
    #[error("failed to parse Kptfile: couldn't parse file \"Kptfile\" from package: {0}")]
    Yaml(kiln_yaml::Error),
    #[error("failed to parse Kptfile: the Kptfile object is missing from the package")]
    NoKptfile,
    #[error("condition {kind:?} has the status {status:?}; it must be True, False or Unknown")]
    Status { kind: String, status: String },
    #[error("failed to write to Kptfile")]
    Write(#[from] ContentsError),
}

pub(crate) fn apply(
    contents: &mut Contents,
    metadata: &PackageMetadata,
    manner: MetadataUpdate,
) -> Result<(), KptfileChangeError> {
    let others = match manner {
        MetadataUpdate::Create => Others::Keep,
        MetadataUpdate::Replace => Others::Remove,
    };
    let conditions = metadata.conditions.as_ref();
    let conditions = conditions.filter(|_| manner == MetadataUpdate::Replace);
    let is_status = |status: &str| matches!(status, "True" | "False" | "Unknown");
    let mut wrong = conditions.into_iter().flatten();
    if let Some(wrong) = wrong.find(|condition| !is_status(&condition.status)) {
        return Err(KptfileChangeError::Status {
            kind: wrong.kind.clone(),
            status: wrong.status.clone(),
        });
    }
    change(contents, |document| {
        if let Some(labels) = &metadata.labels {
            set_metadata(document, MetadataMap::Labels, labels, others);
        }
        if let Some(annotations) = &metadata.annotations {
            set_metadata(document, MetadataMap::Annotations, annotations, others);
        }
        if let Some(gates) = &metadata.readiness_gates {
            set_readiness_gates(document, gates);
        }
        if let Some(conditions) = conditions {
            set_conditions(document, conditions);
        }
    })
}

/// Sets the upstream of a package, and its name if one is given.
pub(crate) fn set_origin(
    contents: &mut Contents,
    name: Option<&str>,
    upstream: &Upstream,
    lock: &Locator,
) -> Result<(), KptfileChangeError> {
    change(contents, |document| {
        if let Some(name) = name {
            set_name(document, name);
        }
        set_upstream(document, Some(upstream));
        set_upstream_lock(document, Some(lock));
    })
}

/// Edits the root Kptfile. Unchanged lines keep their bytes.
fn change(
    contents: &mut Contents,
    edit: impl FnOnce(&mut Document),
) -> Result<(), KptfileChangeError> {
    let bytes = contents
        .bytes(FILE_NAME)
        .ok_or(KptfileChangeError::Missing)?;
    kiln_yaml::parse_first(bytes).map_err(KptfileChangeError::Yaml)?;
    let mut text = EditableText::read_kptfile(bytes).ok_or(KptfileChangeError::NoKptfile)?;
    let document = text.document_mut();
    let meta = Meta::of(document.root());
    if !meta.api_version.starts_with("kpt.dev/") || meta.kind != "Kptfile" {
        return Err(KptfileChangeError::NoKptfile);
    }
    edit(document);
    if let Some(bytes) = text.changed() {
        let path = PackagePath::new(FILE_NAME).map_err(ContentsError::from)?;
        contents.write(path, &bytes)?;
    }
    Ok(())
}
