//! The Kptfile of functions of 2021: with fewer fields than [`Kptfile`](super::Kptfile), which describes them, without a version
//! check, and with other names in messages.

use std::collections::BTreeMap;

use kiln_yaml::Document;

use super::{GitLock, Inventory, Upstream};
use crate::record::{self, DecodeError, Reader, UnknownKeys, records};

records! {
    /// A decoded Kptfile of 2021.
    pub struct FormerKptfile = "v1.KptFile" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: FormerMetadata = "metadata",
        upstream: Option<Upstream> = "upstream",
        upstream_lock: Option<FormerLock> = "upstreamLock",
        info: Option<FormerInfo> = "info",
        pipeline: Option<FormerPipeline> = "pipeline",
        inventory: Option<Inventory> = "inventory",
    }

    /// The metadata a Kptfile may have.
    pub struct FormerMetadata = "v1.ObjectMeta" {
        name: String = "name",
        namespace: String = "namespace",
        labels: BTreeMap<String, String> = "labels",
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// The exact place a package came from.
    pub struct FormerLock = "v1.UpstreamLock" {
        kind: String = "type" ("v1.OriginType"),
        git: Option<GitLock> = "git",
    }

    /// The description of a package.
    pub struct FormerInfo = "v1.PackageInfo" {
        site: String = "site",
        emails: Vec<String> = "emails",
        license: String = "license",
        license_file: String = "licenseFile",
        description: String = "description",
        keywords: Vec<String> = "keywords",
        man: String = "man",
    }

    /// The functions of a package.
    pub struct FormerPipeline = "v1.Pipeline" {
        mutators: Vec<FormerFunction> = "mutators",
        validators: Vec<FormerFunction> = "validators",
    }

    /// One function of a pipeline.
    pub struct FormerFunction = "v1.Function" {
        image: String = "image",
        /// A file of the package with the functionConfig.
        config_path: String = "configPath",
        /// The data of a ConfigMap as the functionConfig; an empty one is given, but not written.
        config_map: Option<BTreeMap<String, String>> = "configMap",
    }
}

impl FormerKptfile {
    /// Decodes the tree of a Kptfile. Later fields are errors.
    pub fn decode(doc: &Document) -> Result<FormerKptfile, DecodeError> {
        Reader::document(doc, UnknownKeys::Refuse)
    }

    /// The tree of the Kptfile, without comments and in the order of its fields.
    pub fn into_document(mut self) -> Document {
        let pipeline = self.pipeline.iter_mut();
        for function in pipeline.flat_map(|it| it.mutators.iter_mut().chain(&mut it.validators)) {
            function.config_map = function.config_map.take().filter(|map| !map.is_empty());
        }
        record::to_document(&self)
    }
}
