//! The Kptfiles of `fix`: v1alpha1, which it reads, and the first v1, which it writes.

use std::collections::BTreeMap;

use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle};

use super::{GitLock, Inventory, Upstream};
use crate::record::{self, DecodeError, Fatal, Reader, UnknownKeys, Value, records};

records! {
    /// A Kptfile of v1alpha1.
    pub struct AlphaKptfile = "v1alpha1.KptFile" {
        /// As given.
        api_version: String = "apiVersion",
        /// As given.
        kind: String = "kind",
        /// Name, namespace, labels and annotations.
        metadata: AlphaMetadata = "metadata",
        /// Where the package came from.
        upstream: Option<AlphaUpstream> = "upstream",
        /// The description of the package.
        package_metadata: Option<AlphaInfo> = "packageMetadata",
        /// Its dependencies.
        dependencies: Vec<AlphaDependency> = "dependencies",
        /// Setters and substitutions.
        open_api: Anything = "openAPI",
        /// Scripts.
        functions: AlphaFunctions = "functions",
        /// The inventory of the package in a cluster.
        inventory: Option<AlphaInventory> = "inventory",
    }

    /// The metadata of a Kptfile.
    pub struct AlphaMetadata = "yaml.ObjectMeta" {
        /// The package's name.
        name: String = "name",
        /// The package's namespace.
        namespace: String = "namespace",
        /// Labels.
        labels: BTreeMap<String, String> = "labels",
        /// Annotations.
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// Where a package came from.
    pub struct AlphaUpstream = "v1alpha1.Upstream" {
        /// `git` or `stdin`.
        kind: String = "type" ("v1alpha1.OriginType"),
        /// The commit in a repository.
        git: AlphaGit = "git",
        /// What was read from standard input.
        stdin: AlphaStdin = "stdin",
    }

    /// A commit in a repository.
    pub struct AlphaGit = "v1alpha1.Git" {
        /// The commit that was found.
        commit: String = "commit",
        /// The repository's address.
        repo: String = "repo",
        /// The directory in it.
        directory: String = "directory",
        /// The requested branch, tag or commit.
        git_ref: String = "ref",
    }

    /// What was read from standard input.
    pub struct AlphaStdin = "v1alpha1.Stdin" {
        /// The names of its files.
        filename_pattern: String = "filenamePattern",
        /// Its text.
        original: String = "original",
    }

    /// The description of a package.
    pub struct AlphaInfo = "v1alpha1.PackageMeta" {
        /// A web page.
        url: String = "url",
        /// The contact's email address.
        email: String = "email",
        /// The licence.
        license: String = "license",
        /// The version.
        version: String = "version",
        /// Keywords.
        tags: Vec<String> = "tags",
        /// A manual.
        man: String = "man",
        /// A sentence or two.
        short_description: String = "shortDescription",
    }

    /// A package that another is made of.
    pub struct AlphaDependency = "v1alpha1.Dependency" {
        /// Its name.
        name: String = "name",
        /// `git` or `stdin`.
        kind: String = "type" ("v1alpha1.OriginType"),
        /// The commit in a repository.
        git: AlphaGit = "git",
        /// What was read from standard input.
        stdin: AlphaStdin = "stdin",
        /// Whether to remove it.
        ensure_not_exists: bool = "ensureNotExists",
        /// How it is updated.
        strategy: String = "updateStrategy",
        /// The functions that run on it.
        functions: Vec<AlphaFunction> = "functions",
        /// Whether its setters are set.
        auto_set: bool = "autoSet",
    }

    /// A function of a dependency.
    pub struct AlphaFunction = "v1alpha1.Function" {
        /// Its configuration.
        config: Anything = "config",
        /// The image.
        image: String = "image",
    }

    /// The scripts of a package.
    pub struct AlphaFunctions = "v1alpha1.Functions" {
        /// Whether they run automatically.
        auto_run: bool = "autoRunStarlark",
        /// The scripts.
        scripts: Vec<AlphaScript> = "starlarkFunctions",
    }

    /// A script.
    pub struct AlphaScript = "v1alpha1.StarlarkFunction" {
        /// Its name.
        name: String = "name",
        /// Its file.
        path: String = "path",
    }

    /// The inventory of a package in a cluster.
    pub struct AlphaInventory = "v1alpha1.Inventory" {
        /// The inventory object's namespace.
        namespace: String = "namespace",
        /// The inventory object's name.
        name: String = "name",
        /// The identity that resources are labelled with.
        inventory_id: String = "inventoryID",
        /// Labels of the inventory object.
        labels: BTreeMap<String, String> = "labels",
        /// Annotations of the inventory object.
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// The first Kptfile of v1.
    pub struct FirstKptfile = "v1.KptFile" {
        /// As given.
        api_version: String = "apiVersion",
        /// As given.
        kind: String = "kind",
        /// Name, namespace, labels and annotations.
        metadata: AlphaMetadata = "metadata",
        /// Where the package came from and how it is updated.
        upstream: Option<Upstream> = "upstream",
        /// The exact place the package came from.
        upstream_lock: Option<FirstLock> = "upstreamLock",
        /// The description of the package.
        info: Option<FirstInfo> = "info",
        /// The functions that run on the package.
        pipeline: Option<FirstPipeline> = "pipeline",
        /// The inventory of the package in a cluster.
        inventory: Option<Inventory> = "inventory",
    }

    /// The exact place a package came from.
    pub struct FirstLock = "v1.UpstreamLock" {
        /// `git`
        kind: String = "type" ("v1.OriginType"),
        /// The commit in a repository.
        git: Option<GitLock> = "git",
    }

    /// The description of a package.
    pub struct FirstInfo = "v1.PackageInfo" {
        /// A web page.
        site: String = "site",
        /// The contact's email address.
        emails: Vec<String> = "emails",
        /// The licence's identifier.
        license: String = "license",
        /// The licence's file in the package.
        license_file: String = "licenseFile",
        /// A file of documentation.
        doc: String = "doc",
        /// A sentence or two.
        description: String = "description",
        /// Keywords.
        keywords: Vec<String> = "keywords",
        /// A manual's file in the package.
        man: String = "man",
    }

    /// The functions of a package.
    pub struct FirstPipeline = "v1.Pipeline" {
        /// Functions whose output replaces their input, in order.
        mutators: Vec<FirstFunction> = "mutators",
        /// Functions whose output is discarded, run after the mutators.
        validators: Vec<FirstFunction> = "validators",
    }

    /// One function of a pipeline.
    pub struct FirstFunction = "v1.Function" {
        /// The image.
        image: String = "image",
        /// The functionConfig itself.
        config: Anything = "config",
        /// A file of the package with the functionConfig.
        config_path: String = "configPath",
        /// The data of a ConfigMap as the functionConfig.
        config_map: BTreeMap<String, String> = "configMap",
    }
}

/// A part of a Kptfile that may be anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anything {
    text: String,
}

impl Value for Anything {
    const READS_ANYTHING: bool = true;

    fn type_name() -> String {
        "yaml.Node".to_owned()
    }

    fn read(&mut self, node: NodeRef<'_>, _: &str, _: &mut Reader<'_>) -> Result<bool, Fatal> {
        self.text = kiln_yaml::to_string(&Document::from_node(node), SequenceStyle::Compact);
        Ok(true)
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        match kiln_yaml::parse(&self.text) {
            Ok(Some(value)) => doc.import(value.root()),
            Ok(None) | Err(_) => doc.new_scalar("null", ""),
        }
    }

    fn is_zero(&self) -> bool {
        self.text.is_empty()
    }
}

impl AlphaKptfile {
    /// Decodes the tree of a Kptfile. Unknown fields are errors.
    pub fn decode(doc: &Document) -> Result<AlphaKptfile, DecodeError> {
        Reader::document(doc, UnknownKeys::Refuse)
    }
}

impl FirstKptfile {
    /// Decodes the tree of a Kptfile. Unknown fields are errors.
    pub fn decode(doc: &Document) -> Result<FirstKptfile, DecodeError> {
        Reader::document(doc, UnknownKeys::Refuse)
    }

    /// The tree of the Kptfile, without comments and in the order of its fields.
    pub fn into_document(self) -> Document {
        record::to_document(&self)
    }
}
