//! The Kptfiles of `fix`: v1alpha1, which it reads, and the first v1, which it writes. Fields that [`Kptfile`](super::Kptfile) has
//! too are described there.

use std::collections::BTreeMap;

use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle};

use super::{FormerLock, Inventory, Upstream};
use crate::record::{self, DecodeError, Fatal, Reader, UnknownKeys, Value, records};

records! {
    /// A Kptfile of v1alpha1.
    pub struct AlphaKptfile = "v1alpha1.KptFile" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: AlphaMetadata = "metadata",
        /// Where the package came from.
        upstream: Option<AlphaUpstream> = "upstream",
        package_metadata: Option<AlphaInfo> = "packageMetadata",
        dependencies: Vec<AlphaDependency> = "dependencies",
        /// Setters and substitutions.
        open_api: Anything = "openAPI",
        functions: AlphaFunctions = "functions",
        inventory: Option<AlphaInventory> = "inventory",
    }

    /// The metadata of a Kptfile.
    pub struct AlphaMetadata = "yaml.ObjectMeta" {
        name: String = "name",
        namespace: String = "namespace",
        labels: BTreeMap<String, String> = "labels",
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// Where a package came from.
    pub struct AlphaUpstream = "v1alpha1.Upstream" {
        /// `git` or `stdin`.
        kind: String = "type" ("v1alpha1.OriginType"),
        git: AlphaGit = "git",
        /// What was read from standard input.
        stdin: AlphaStdin = "stdin",
    }

    /// A commit in a repository.
    pub struct AlphaGit = "v1alpha1.Git" {
        commit: String = "commit",
        repo: String = "repo",
        directory: String = "directory",
        git_ref: String = "ref",
    }

    /// What was read from standard input.
    pub struct AlphaStdin = "v1alpha1.Stdin" {
        /// The names of its files.
        filename_pattern: String = "filenamePattern",
        original: String = "original",
    }

    /// The description of a package.
    pub struct AlphaInfo = "v1alpha1.PackageMeta" {
        url: String = "url",
        /// The contact's email address.
        email: String = "email",
        license: String = "license",
        version: String = "version",
        tags: Vec<String> = "tags",
        man: String = "man",
        /// A sentence or two.
        short_description: String = "shortDescription",
    }

    /// A package that another is made of.
    pub struct AlphaDependency = "v1alpha1.Dependency" {
        name: String = "name",
        /// `git` or `stdin`.
        kind: String = "type" ("v1alpha1.OriginType"),
        git: AlphaGit = "git",
        /// What was read from standard input.
        stdin: AlphaStdin = "stdin",
        /// Whether to remove it.
        ensure_not_exists: bool = "ensureNotExists",
        strategy: String = "updateStrategy",
        /// The functions that run on it.
        functions: Vec<AlphaFunction> = "functions",
        /// Whether its setters are set.
        auto_set: bool = "autoSet",
    }

    /// A function of a dependency.
    pub struct AlphaFunction = "v1alpha1.Function" {
        config: Anything = "config",
        image: String = "image",
    }

    /// The scripts of a package.
    pub struct AlphaFunctions = "v1alpha1.Functions" {
        /// Whether they run automatically.
        auto_run: bool = "autoRunStarlark",
        scripts: Vec<AlphaScript> = "starlarkFunctions",
    }

    /// A script.
    pub struct AlphaScript = "v1alpha1.StarlarkFunction" {
        name: String = "name",
        path: String = "path",
    }

    /// The inventory of a package in a cluster.
    pub struct AlphaInventory = "v1alpha1.Inventory" {
        namespace: String = "namespace",
        name: String = "name",
        inventory_id: String = "inventoryID",
        labels: BTreeMap<String, String> = "labels",
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// The first Kptfile of v1.
    pub struct FirstKptfile = "v1.KptFile" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: AlphaMetadata = "metadata",
        upstream: Option<Upstream> = "upstream",
        upstream_lock: Option<FormerLock> = "upstreamLock",
        info: Option<FirstInfo> = "info",
        pipeline: Option<FirstPipeline> = "pipeline",
        inventory: Option<Inventory> = "inventory",
    }

    /// The description of a package.
    pub struct FirstInfo = "v1.PackageInfo" {
        site: String = "site",
        emails: Vec<String> = "emails",
        license: String = "license",
        license_file: String = "licenseFile",
        /// A file of documentation.
        doc: String = "doc",
        description: String = "description",
        keywords: Vec<String> = "keywords",
        man: String = "man",
    }

    /// The functions of a package.
    pub struct FirstPipeline = "v1.Pipeline" {
        mutators: Vec<FirstFunction> = "mutators",
        validators: Vec<FirstFunction> = "validators",
    }

    /// One function of a pipeline.
    pub struct FirstFunction = "v1.Function" {
        image: String = "image",
        /// The functionConfig itself.
        config: Anything = "config",
        /// A file of the package with the functionConfig.
        config_path: String = "configPath",
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
