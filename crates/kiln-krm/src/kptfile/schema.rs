//! The fields of a Kptfile, in the order in which they are written.

use std::collections::BTreeMap;

use kiln_go::to_lower;
use kiln_yaml::{Document, SequenceStyle};

use crate::record::{self, records};
use crate::results::ResultItem;

records! {
    /// A decoded Kptfile.
    pub struct Kptfile = "v1.KptFile" {
        /// Always [`API_VERSION`](super::API_VERSION) when read.
        api_version: String = "apiVersion",
        /// Always [`KIND`](super::KIND) when read.
        kind: String = "kind",
        /// Name, namespace, labels and annotations.
        metadata: Metadata = "metadata",
        /// Where the package came from and how it is updated.
        upstream: Option<Upstream> = "upstream",
        /// The exact place the package came from.
        upstream_lock: Option<Locator> = "upstreamLock",
        info: Option<PackageInfo> = "info",
        /// The functions that run on the package.
        pipeline: Option<Pipeline> = "pipeline",
        /// The inventory of the package in a cluster.
        inventory: Option<Inventory> = "inventory",
        /// The state of the package.
        status: Option<Status> = "status",
    }

    /// The metadata a Kptfile may have; nothing else is accepted.
    pub struct Metadata = "yaml.ObjectMeta" {
        name: String = "name",
        namespace: String = "namespace",
        labels: BTreeMap<String, String> = "labels",
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// Where a package is updated from.
    pub struct Upstream = "v1.Upstream" {
        /// `git`
        kind: String = "type" ("v1.OriginType"),
        git: Option<Git> = "git",
        /// `resource-merge`, `fast-forward`, `force-delete-replace` or `copy-merge`.
        update_strategy: String = "updateStrategy" ("v1.UpdateStrategyType"),
    }

    /// A place in a git repository.
    pub struct Git = "v1.Git" {
        repo: String = "repo",
        directory: String = "directory",
        /// A branch, tag or commit.
        git_ref: String = "ref",
    }

    /// The exact place a package came from.
    pub struct Locator = "v1.Locator" {
        /// `git` or `generic`.
        kind: String = "type" ("v1.OriginType"),
        /// The commit in a repository.
        git: Option<GitLock> = "git",
        /// The version in another store.
        generic: Option<GenericLock> = "generic",
    }

    /// A commit in a git repository.
    pub struct GitLock = "v1.GitLock" {
        repo: String = "repo",
        directory: String = "directory",
        /// The requested branch, tag or commit.
        git_ref: String = "ref",
        commit: String = "commit",
    }

    /// A version in a store that is not git.
    pub struct GenericLock = "v1.GenericLock" {
        store_id: String = "storeID",
        resource_id: String = "resourceID",
        resource_version: String = "resourceVersion",
    }

    /// The description of a package.
    pub struct PackageInfo = "v1.PackageInfo" {
        site: String = "site",
        /// The contact's email address.
        emails: Vec<String> = "emails",
        license: String = "license",
        /// The licence's file in the package.
        license_file: String = "licenseFile",
        /// A sentence or two.
        description: String = "description",
        keywords: Vec<String> = "keywords",
        /// A manual's file in the package.
        man: String = "man",
        /// The conditions that must be true for the package to be ready.
        readiness_gates: Vec<ReadinessGate> = "readinessGates",
    }

    /// A condition that must be true for a package to be ready.
    pub struct ReadinessGate = "v1.ReadinessGate" {
        condition_type: String = "conditionType" [always],
    }

    /// The functions of a package.
    pub struct Pipeline = "v1.Pipeline" {
        /// Functions whose output replaces their input, in order.
        mutators: Vec<Function> = "mutators",
        /// Functions whose output is discarded, run after the mutators.
        validators: Vec<Function> = "validators",
    }

    /// One function of a pipeline.
    pub struct Function = "v1.Function" {
        /// The image; excludes `exec`.
        image: String = "image",
        /// The command line; excludes `image`.
        exec: String = "exec",
        /// A file of the package with the functionConfig; excludes `config_map`.
        config_path: String = "configPath",
        /// The data of a ConfigMap as the functionConfig.
        config_map: BTreeMap<String, String> = "configMap",
        /// A name that distinguishes functions.
        name: String = "name",
        /// A tag, version or constraint that replaces the image's tag.
        tag: String = "tag",
        /// Which resources the function gets; all if empty.
        selectors: Vec<Selector> = "selectors",
        /// Which of these it does not get.
        exclusions: Vec<Selector> = "exclude",
    }

    /// Selects resources; all given fields must match.
    pub struct Selector = "v1.Selector" {
        /// The exact `apiVersion`.
        api_version: String = "apiVersion",
        /// The exact `kind`.
        kind: String = "kind",
        /// The exact name.
        name: String = "name",
        /// The exact namespace.
        namespace: String = "namespace",
        /// Labels that must have these values.
        labels: BTreeMap<String, String> = "labels",
        /// Annotations that must have these values.
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// The inventory of a package in a cluster.
    pub struct Inventory = "v1.Inventory" {
        namespace: String = "namespace",
        name: String = "name",
        /// The identity that resources are labelled with.
        inventory_id: String = "inventoryID",
        labels: BTreeMap<String, String> = "labels",
        annotations: BTreeMap<String, String> = "annotations",
    }

    /// The state of a package.
    pub struct Status = "v1.Status" {
        /// Conditions, one of a type.
        conditions: Vec<Condition> = "conditions",
        /// The result of the last render, by function.
        render_status: Option<RenderStatus> = "renderStatus",
    }

    /// A condition of the package.
    pub struct Condition = "v1.Condition" {
        /// The name of the condition.
        kind: String = "type" [always],
        /// `True`, `False` or `Unknown`.
        status: String = "status" ("v1.ConditionStatus") [always],
        /// The reason, in one word.
        reason: String = "reason",
        /// The reason in detail.
        message: String = "message",
    }

    /// The result of the last render.
    pub struct RenderStatus = "v1.RenderStatus" {
        /// The mutators that ran, in order, of all packages.
        mutation_steps: Vec<Step> = "mutationSteps",
        /// The validators that ran.
        validation_steps: Vec<Step> = "validationSteps",
        /// A line for each step that failed.
        error_summary: String = "errorSummary",
    }

    /// The result of one function.
    pub struct Step = "v1.PipelineStepResult" {
        name: String = "name",
        /// The image as it was resolved.
        image: String = "image",
        /// The command line as it was written.
        exec: String = "exec",
        /// Why the function could not run, or why its output was refused.
        execution_error: String = "executionError",
        stderr: String = "stderr",
        exit_code: i64 = "exitCode" [always],
        results: Vec<ResultItem> = "results",
        /// Its results of severity error.
        error_results: Vec<ResultItem> = "errorResults",
    }
}

impl Kptfile {
    /// The Kptfile as kpt writes it after decoding: keys in the order of the schema, maps sorted, wide sequences,
    /// styles normalised, no comments.
    pub fn to_struct_yaml(&self) -> String {
        kiln_yaml::to_string(&self.to_document(), SequenceStyle::Wide)
    }

    /// The tree behind [`Kptfile::to_struct_yaml`].
    pub fn to_document(&self) -> Document {
        record::to_document(self)
    }

    /// Whether the value of an annotation is `true`, in any case.
    pub fn is_annotated_true(&self, annotation: &str) -> bool {
        let value = self.metadata.annotations.get(annotation);
        value.is_some_and(|value| to_lower(value) == "true")
    }
}

impl Pipeline {
    /// Whether there is no function at all.
    pub fn is_empty(&self) -> bool {
        self.mutators.is_empty() && self.validators.is_empty()
    }
}

impl Inventory {
    /// Whether name, namespace and identity are all given.
    pub fn is_valid(&self) -> bool {
        ![&self.name, &self.namespace, &self.inventory_id]
            .iter()
            .any(|field| field.is_empty())
    }
}

impl Condition {
    /// The type of the condition of the last render.
    pub const RENDERED: &str = "Rendered";

    /// The condition after a render that succeeded.
    pub fn render_succeeded() -> Condition {
        Condition {
            kind: Condition::RENDERED.to_owned(),
            status: "True".to_owned(),
            reason: "RenderSuccess".to_owned(),
            message: String::new(),
        }
    }

    /// The condition after a render that failed.
    pub fn render_failed(message: &str) -> Condition {
        Condition {
            kind: Condition::RENDERED.to_owned(),
            status: "False".to_owned(),
            reason: "RenderFailed".to_owned(),
            message: message.to_owned(),
        }
    }
}

impl Status {
    /// Puts a condition last and removes others of its type, as in kpt.
    pub(crate) fn replace_condition(&mut self, condition: Condition) {
        self.conditions.retain(|other| other.kind != condition.kind);
        self.conditions.push(condition);
    }
}
