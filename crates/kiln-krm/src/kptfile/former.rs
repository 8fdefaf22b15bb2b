//! The Kptfile of functions of 2021: with fewer fields, without a version check, and with other names in messages.

use std::collections::BTreeMap;

use kiln_yaml::Document;

use super::{GitLock, Inventory, Upstream};
use crate::record::{self, DecodeError, Reader, UnknownKeys, records};

records! {
    /// A decoded Kptfile of 2021.
    pub struct FormerKptfile = "v1.KptFile" {
        /// As given.
        api_version: String = "apiVersion",
        /// As given.
        kind: String = "kind",
        /// Name, namespace, labels and annotations.
        metadata: FormerMetadata = "metadata",
        /// Where the package came from and how it is updated.
        upstream: Option<Upstream> = "upstream",
        /// The exact place the package came from.
        upstream_lock: Option<FormerLock> = "upstreamLock",
        /// The description of the package.
        info: Option<FormerInfo> = "info",
        /// The functions that run on the package.
        pipeline: Option<FormerPipeline> = "pipeline",
        /// The inventory of the package in a cluster.
        inventory: Option<Inventory> = "inventory",
    }

    /// The metadata a Kptfile may have.
    pub struct FormerMetadata = "v1.ObjectMeta" {
        /// The package's name.
        name: String = "name",
        /// The package's namespace.
        namespace: String = "namespace",
        /// Labels.
        labels: BTreeMap<String, String> = "labels",
        /// Annotations.
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// The exact place a package came from.
    pub struct FormerLock = "v1.UpstreamLock" {
        /// `git`
        kind: String = "type" ("v1.OriginType"),
        /// The commit in a repository.
        git: Option<GitLock> = "git",
    }

    /// The description of a package.
    pub struct FormerInfo = "v1.PackageInfo" {
        /// A web page.
        site: String = "site",
        /// The contact's email address.
        emails: Vec<String> = "emails",
        /// The licence's identifier.
        license: String = "license",
        /// The licence's file in the package.
        license_file: String = "licenseFile",
        /// A sentence or two.
        description: String = "description",
        /// Keywords.
        keywords: Vec<String> = "keywords",
        /// A manual's file in the package.
        man: String = "man",
    }

    /// The functions of a package.
    pub struct FormerPipeline = "v1.Pipeline" {
        /// Functions whose output replaces their input, in order.
        mutators: Vec<FormerFunction> = "mutators",
        /// Functions whose output is discarded, run after the mutators.
        validators: Vec<FormerFunction> = "validators",
    }

    /// One function of a pipeline.
    pub struct FormerFunction = "v1.Function" {
        /// The image.
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
