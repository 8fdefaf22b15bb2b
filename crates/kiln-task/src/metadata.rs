//! What a package revision says about itself in its Kptfile, and setting it.

use kiln_krm::kptfile::change::{
    MetadataMap, Others, set_conditions, set_metadata, set_name, set_readiness_gates, set_upstream,
    set_upstream_lock,
};
use kiln_krm::kptfile::{Condition, FILE_NAME, KptfileText, Locator, Upstream};
use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use crate::contents::{Contents, ContentsError, PackagePath};

/// What is to be said; what is none stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackageMetadata {
    /// Labels of the package.
    pub labels: Option<Vec<(String, String)>>,
    /// Annotations of the package.
    pub annotations: Option<Vec<(String, String)>>,
    /// The types of conditions that must be true before it is proposed and approved.
    pub readiness_gates: Option<Vec<String>>,
    /// Conditions.
    pub conditions: Option<Vec<Condition>>,
}

/// Whether what is not asked for stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// A new revision: labels and annotations are added, and conditions are none of its business.
    Create,
    /// A change: everything is made equal.
    Replace,
}

/// Why a package's Kptfile cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum KptfileChangeError {
    /// There is none.
    #[error("failed to parse Kptfile: file \"Kptfile\" is missing from the package")]
    Missing,
    /// It cannot be read.
    #[error("failed to parse Kptfile: couldn't parse file \"Kptfile\" from package: {0}")]
    Yaml(kiln_yaml::Error),
    /// It is something else.
    #[error("failed to parse Kptfile: the Kptfile object is missing from the package")]
    NoKptfile,
    /// A condition is neither true nor false nor unknown.
    #[error("condition {kind:?} has the status {status:?}; it must be True, False or Unknown")]
    Status {
        /// The condition's type.
        kind: String,
        /// Its status.
        status: String,
    },
    /// It cannot be written.
    #[error("failed to write to Kptfile")]
    Write(#[from] ContentsError),
}

/// Sets what a package says about itself.
pub(crate) fn apply(
    contents: &mut Contents,
    metadata: &PackageMetadata,
    manner: Manner,
) -> Result<(), KptfileChangeError> {
    let others = match manner {
        Manner::Create => Others::Keep,
        Manner::Replace => Others::Remove,
    };
    let conditions = metadata.conditions.as_ref();
    let conditions = conditions.filter(|_| manner == Manner::Replace);
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

/// Sets where a package comes from, and its name if there is to be a new one.
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

/// Changes the package's own Kptfile. What the change leaves alone keeps its bytes.
fn change(
    contents: &mut Contents,
    edit: impl FnOnce(&mut Document),
) -> Result<(), KptfileChangeError> {
    let bytes = contents
        .bytes(FILE_NAME)
        .ok_or(KptfileChangeError::Missing)?;
    kiln_yaml::parse_first(bytes).map_err(KptfileChangeError::Yaml)?;
    let mut text = KptfileText::read(bytes).ok_or(KptfileChangeError::NoKptfile)?;
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
