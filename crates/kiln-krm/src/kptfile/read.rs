//! Decoding a Kptfile: first its type, then, strictly, everything.

use kiln_yaml::Document;

use super::{Kptfile, KptfileProblem};
use crate::meta::Meta;
use crate::record::{Reader, UnknownKeys};

impl Kptfile {
    /// Decodes the bytes of a Kptfile. Only the first document counts.
    pub fn read(bytes: &[u8]) -> Result<Kptfile, KptfileProblem> {
        Kptfile::read_with(bytes, UnknownKeys::Refuse)
    }

    /// The same, with unknown fields refused, as in kpt, or ignored.
    pub fn read_with(bytes: &[u8], unknown_keys: UnknownKeys) -> Result<Kptfile, KptfileProblem> {
        match kiln_yaml::parse_first(bytes)? {
            None => Err(KptfileProblem::Empty),
            Some(document) => Kptfile::decode_with(&document, unknown_keys),
        }
    }

    /// Decodes the tree of a Kptfile.
    pub fn decode(doc: &Document) -> Result<Kptfile, KptfileProblem> {
        Kptfile::decode_with(doc, UnknownKeys::Refuse)
    }

    fn decode_with(doc: &Document, unknown_keys: UnknownKeys) -> Result<Kptfile, KptfileProblem> {
        check_type(doc)?;
        Ok(Reader::document(doc, unknown_keys)?)
    }
}

fn check_type(doc: &Document) -> Result<(), KptfileProblem> {
    let meta = Meta::of(doc.root());
    if meta.is_missing {
        return Err(KptfileProblem::NoMetadata);
    }
    let (group, version) = match meta.api_version {
        "/" => ("", ""),
        text => text.split_once('/').unwrap_or(("", text)),
    };
    if version.contains('/') {
        return Err(KptfileProblem::GroupVersion(meta.api_version.to_owned()));
    }
    match (group, version, meta.kind) {
        ("kpt.dev", "v1", "Kptfile") => Ok(()),
        ("kpt.dev", "v1alpha1" | "v1alpha2", "Kptfile") => {
            Err(KptfileProblem::Deprecated(version.to_owned()))
        }
        (_, _, kind) => Err(KptfileProblem::UnknownType(format!(
            "{group}/{version}, Kind={kind}"
        ))),
    }
}
