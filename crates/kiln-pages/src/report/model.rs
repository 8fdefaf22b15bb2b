//! The model of a report. It is what `--report-data` writes as JSON, and all that the other formats see.
//!
//! The JSON is an interface: fields are added, never renamed or given another meaning, without a new [`MODEL_VERSION`].

use serde::{Deserialize, Serialize};

use super::github::in_directory;
use crate::parts::counted;

/// The version of the JSON.
pub const MODEL_VERSION: u32 = 1;

/// One run of functions on a package.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportModel {
    /// [`MODEL_VERSION`] of the program that wrote it.
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// Operating system and processor.
    pub platform: String,
    /// The command line, one element per argument.
    pub command: Vec<String>,
    pub action: ReportAction,
    /// The name of the package.
    pub package: String,
    /// The directory of the package as the user named it.
    pub directory: String,
    /// That directory in its repository, for CI systems, which look for files from there; `None` if no repository is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_directory: Option<String>,
    /// Whether the result went to standard output or to another directory, so that the files of the package are as before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_written_elsewhere: bool,
    /// When the run began, as RFC 3339.
    pub started: String,
    pub duration_us: u64,
    pub verdict: Verdict,
    /// What failed and what functions complained about, errors first.
    pub problems: Vec<ReportProblem>,
    /// The functions that ran, in order.
    pub steps: Vec<StepReport>,
    /// The time that is not spent in functions.
    pub phases: Vec<PhaseTime>,
    /// The files that changed or would change.
    pub files: Vec<FileReport>,
    /// The resources that a step or a file change touched.
    pub resources: Vec<ResourceReport>,
    /// Changes that a reviewer should look at.
    pub review: Vec<ReviewNote>,
    /// What the report leaves out, and why.
    pub notes: Vec<String>,
    /// The lock file that fixed the versions of functions; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockReport>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The lock file of a render. What it names is exactly what ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockReport {
    /// Relative to the package.
    pub file: String,
    /// Of its content, in hexadecimal.
    pub sha256: String,
    pub state: LockFileState,
}

/// Whether a lock file had all functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockFileState {
    /// It had an entry for each function.
    Complete,
    /// The run added or replaced entries.
    Updated,
}

/// What the command did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportAction {
    Render,
    Eval,
    Check,
    DryRun,
}

/// How the run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Passed,
    Failed,
    /// `--check` found files that rendering would change.
    Differs,
}

/// Something that the user should look at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportProblem {
    /// `error` or `warning`.
    pub severity: String,
    pub message: String,
    /// `Kind namespace/name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The index of the step that reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
}

/// One call of a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// The package whose pipeline it belongs to; empty for `eval`.
    pub package: String,
    /// The directory of that package, relative to the root package.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// The image or command line.
    pub function: String,
    /// The name that the pipeline gives to the step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub kind: StepKind,
    /// Its place in the pipeline of the package; `None` for `eval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<StepPosition>,
    /// The file with the configuration, relative to the package of the step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub config_path: String,
    /// The configuration, without the values of Secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub config: String,
    /// Which resources it gets: one of these has to match. All if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<String>,
    /// Which of these it does not get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The command that runs only this step again; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// What exactly ran, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    pub status: StepStatus,
    /// Whether the answer was kept from an earlier run.
    #[serde(default)]
    pub is_cached: bool,
    /// Since the run began.
    pub start_us: u64,
    pub duration_us: u64,
    pub resources_in: usize,
    pub resources_out: usize,
    /// Indices of [`ReportModel::resources`].
    pub touched: Vec<usize>,
    pub exit_code: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    pub results: Vec<ResultReport>,
}

/// The place of a step among the mutators and validators of a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepPosition {
    /// Counted from 1.
    pub number: usize,
    pub count: usize,
}

/// The role of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    Mutator,
    Validator,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepStatus {
    Passed,
    Failed,
}

/// Something that a function reported.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultReport {
    /// `error`, `warning` or `info`.
    pub severity: String,
    pub message: String,
    /// `Kind namespace/name`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_value: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proposed_value: String,
}

/// A part of the run that is not a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    pub name: String,
    pub start_us: u64,
    pub duration_us: u64,
}

/// A file that changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// Relative to the package.
    pub path: String,
    pub change: ReportChange,
    pub lines: LineCounts,
    /// A unified diff without its header; empty if it was left out.
    pub diff: String,
}

/// How many lines a diff adds and removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineCounts {
    pub added: usize,
    pub removed: usize,
}

/// What happened to a file or a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportChange {
    Added,
    Changed,
    Deleted,
    /// A step changed it, and the files are as before.
    Unchanged,
}

/// A resource, with what happened to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReport {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// Relative to the root package.
    pub file: String,
    pub change: ReportChange,
    /// Indices of the steps that changed it, in order.
    pub steps: Vec<usize>,
}

/// A change that deserves a look.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewNote {
    /// `image`, `replicas`, `rbac`, `network`, `quantity`, `security`, `namespace`, `renamed`, `added` or `deleted`.
    pub topic: String,
    /// `Kind namespace/name`.
    pub resource: String,
    pub file: String,
    pub field: String,
    pub before: String,
    pub after: String,
}

impl ReportModel {
    /// The number of problems with this severity.
    pub fn count(&self, severity: &str) -> usize {
        let problems = self.problems.iter();
        problems.filter(|one| one.severity == severity).count()
    }

    /// The number of steps whose answers were kept from earlier runs.
    pub fn cached(&self) -> usize {
        self.steps.iter().filter(|step| step.is_cached).count()
    }

    /// The lines of all diffs.
    pub fn lines(&self) -> LineCounts {
        let sum = |lines: LineCounts, file: &FileReport| LineCounts {
            added: lines.added + file.lines.added,
            removed: lines.removed + file.lines.removed,
        };
        self.files.iter().fold(LineCounts::default(), sum)
    }

    /// The name of the package; a list from standard input has none.
    pub fn package_title(&self) -> &str {
        match self.package.as_str() {
            "" => "standard input",
            package => package,
        }
    }

    /// The path of a file of the package, for CI systems.
    pub(super) fn place(&self, file: &str) -> String {
        let directory = self.repository_directory.as_deref();
        in_directory(directory.unwrap_or(&self.directory), file)
    }

    /// One sentence about the outcome.
    pub fn headline(&self) -> String {
        let files = counted(self.files.len(), "file");
        match (self.verdict, self.action) {
            (Verdict::Failed, _) => {
                let failed = self
                    .steps
                    .iter()
                    .find(|step| step.status == StepStatus::Failed);
                match failed {
                    Some(step) if step.package.is_empty() => format!("Failed: {}", step.function),
                    Some(step) => format!("Failed: {} on package {}", step.function, step.package),
                    None => "Failed".to_owned(),
                }
            }
            (Verdict::Differs, _) => format!("Differs: rendering would change {files}"),
            (Verdict::Passed, _) if self.is_written_elsewhere => self.headline_elsewhere(&files),
            (Verdict::Passed, _) if self.files.is_empty() => "Passed: no changes".to_owned(),
            (Verdict::Passed, ReportAction::DryRun) => format!("Passed: would change {files}"),
            (Verdict::Passed, _) => format!("Passed: changed {files}"),
        }
    }

    /// The sentence about a result that is not in the package. What came from standard input has no files.
    fn headline_elsewhere(&self, files: &str) -> String {
        match (self.files.len(), self.resources.len()) {
            (0, 0) => "Passed: no changes".to_owned(),
            (0, resources) => {
                let resources = counted(resources, "resource");
                format!("Passed: changed {resources}, written elsewhere")
            }
            (_, _) => format!("Passed: changed {files}, written elsewhere"),
        }
    }
}

impl StepReport {
    /// Whether it printed or reported something.
    pub(super) fn has_messages(&self) -> bool {
        !self.stderr.is_empty() || !self.results.is_empty()
    }
}

impl ResourceReport {
    /// `Kind namespace/name`.
    pub fn title(&self) -> String {
        resource_title(&self.kind, &self.namespace, &self.name)
    }
}

/// `Kind namespace/name`, or `Kind name` without a namespace. Functions may leave out any part.
pub(super) fn resource_title(kind: &str, namespace: &str, name: &str) -> String {
    let title = match namespace {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    };
    title.trim().to_owned()
}
