//! Reads, edits and merges Kptfiles by either rules: in the text, or from the decoded form as kpt does.

use kiln_krm::EditableText;
use kiln_krm::kptfile::change::{set_name, set_upstream, set_upstream_lock};
use kiln_krm::kptfile::{
    API_VERSION, FILE_NAME, KIND, Kptfile, KptfileError, KptfileProblem, Locator, Metadata,
    Upstream,
};

use super::PkgRules;
use crate::contents::Contents;
use crate::merge::{Conflict, FileSides, MergeStyle, UpstreamFields, join_path, merge_kptfile};

/// The Kptfile of a package.
pub(super) fn read(
    contents: &Contents,
    directory: &str,
    shown: &str,
) -> Result<Kptfile, KptfileError> {
    let error = |problem| KptfileError {
        path: shown.to_owned(),
        problem,
    };
    let Some(bytes) = contents.bytes(&join_path(directory, FILE_NAME)) else {
        let text = format!("open {shown}/{FILE_NAME}: no such file or directory");
        return Err(error(KptfileProblem::Missing(text)));
    };
    Kptfile::read(bytes).map_err(error)
}

/// The text of a Kptfile with nothing but a name.
pub(super) fn named(name: &str) -> Vec<u8> {
    let kptfile = Kptfile {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: Metadata {
            name: name.to_owned(),
            ..Metadata::default()
        },
        ..Kptfile::default()
    };
    kptfile.to_struct_yaml().into_bytes()
}

/// New values of a Kptfile; `None` leaves a field as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KptfileFields<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) upstream: Option<&'a Upstream>,
    pub(super) lock: Option<&'a Locator>,
}

/// Sets fields of a Kptfile.
pub(super) fn with_fields(
    kptfile: &[u8],
    fields: KptfileFields<'_>,
    rules: PkgRules,
) -> Result<Vec<u8>, KptfileProblem> {
    let mut decoded = Kptfile::read(kptfile)?;
    if rules == PkgRules::Kiln
        && let Some(mut text) = EditableText::read_kptfile(kptfile)
    {
        let document = text.document_mut();
        if let Some(name) = fields.name {
            set_name(document, name);
        }
        if let Some(upstream) = fields.upstream {
            set_upstream(document, Some(upstream));
        }
        if let Some(lock) = fields.lock {
            set_upstream_lock(document, Some(lock));
        }
        return Ok(text.changed().unwrap_or_else(|| kptfile.to_vec()));
    }
    if let Some(name) = fields.name {
        name.clone_into(&mut decoded.metadata.name);
    }
    if let Some(upstream) = fields.upstream {
        decoded.upstream = Some(upstream.clone());
    }
    if let Some(lock) = fields.lock {
        decoded.upstream_lock = Some(lock.clone());
    }
    Ok(decoded.to_struct_yaml().into_bytes())
}

/// Merges Kptfiles. A missing side is empty.
pub(super) fn merged(
    path: &str,
    sides: FileSides<'_>,
    upstream: UpstreamFields,
    rules: PkgRules,
    conflicts: &mut Vec<Conflict>,
) -> Result<Vec<u8>, KptfileProblem> {
    if rules == PkgRules::Kiln {
        let local = sides.local.or(sides.updated).unwrap_or_default();
        let merged = merge_kptfile(path, sides, upstream, MergeStyle::Kiln, conflicts);
        return Ok(merged.unwrap_or_else(|| local.to_vec()));
    }
    let decoded = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => Kptfile::read(bytes).map(|kptfile| Some(kptfile.to_struct_yaml())),
        None => Ok(None),
    };
    let (local, updated, origin) = (
        decoded(sides.local)?,
        decoded(sides.updated)?,
        decoded(sides.origin)?,
    );
    let sides = FileSides {
        local: local.as_deref().map(str::as_bytes),
        updated: updated.as_deref().map(str::as_bytes),
        origin: origin.as_deref().map(str::as_bytes),
    };
    let merged = merge_kptfile(path, sides, upstream, MergeStyle::Kpt, conflicts);
    let merged = merged.unwrap_or_default();
    Ok(Kptfile::read(&merged)?.to_struct_yaml().into_bytes())
}
