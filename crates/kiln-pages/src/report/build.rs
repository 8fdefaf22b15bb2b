//! Builds the model from what a command knows at its end.

use std::collections::BTreeMap;

use kiln_krm::ResourceId;
use kiln_krm::results::{FunctionResult, ResultItem, Severity};
use kiln_krm::secrets::{SecretMask, SecretValues};
use similar::{ChangeTag, TextDiff};

use super::command_words::mask_arguments;
use super::lines::find_line;
use super::model::{
    FileReport, LineCounts, MODEL_VERSION, PhaseTime, ReportAction, ReportChange, ReportModel,
    ReportProblem, ResourceReport, ResultReport, StepKind, StepReport, StepStatus, Verdict,
    resource_title,
};
use super::review::add_notes;
use super::secrets::mask_versions;
use super::text::cut;
use super::visible::visible;

/// All diffs together; the page has to open in a browser.
const MOST_DIFF_BYTES: usize = 12 << 20;

/// What one function may contribute of its standard error.
const MOST_STDERR_BYTES: usize = 256 << 10;

/// What a command knows at its end.
pub struct ReportInput<'a> {
    pub tool: String,
    pub platform: String,
    pub command: Vec<String>,
    pub action: ReportAction,
    pub package: String,
    pub directory: String,
    pub started: String,
    pub duration_us: u64,
    pub verdict: Verdict,
    /// Errors of the command itself. Those that functions report are found in `steps`.
    pub problems: Vec<ReportProblem>,
    pub steps: Vec<StepInput>,
    pub phases: Vec<PhaseTime>,
    pub files: Vec<ChangedFile>,
    /// The values of all Secrets that the command read or made.
    pub secrets: SecretValues,
    /// The content of a file of the package that did not change.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// One call of a function.
pub struct StepInput {
    pub package: String,
    pub function: String,
    pub kind: StepKind,
    pub identity: Option<String>,
    pub status: StepStatus,
    pub start_us: u64,
    pub duration_us: u64,
    pub resources_in: usize,
    pub resources_out: usize,
    pub touched: Vec<TouchedResource>,
    pub result: FunctionResult,
}

/// A resource that a step added, changed or removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchedResource {
    pub id: ResourceId,
    /// Relative to the root package.
    pub file: String,
}

/// A file before and after the run.
pub struct ChangedFile {
    /// Relative to the package.
    pub path: String,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// Builds the model. Values of Secrets do not reach it.
pub fn build(input: ReportInput<'_>) -> ReportModel {
    let mut secrets = input.secrets;
    for file in &input.files {
        for text in [&file.before, &file.after].into_iter().flatten() {
            secrets.add_file(text);
        }
    }
    let secrets = secrets.into_mask();
    let mut model = ReportModel {
        version: MODEL_VERSION,
        tool: input.tool,
        platform: input.platform,
        command: mask_arguments(&input.command)
            .iter()
            .map(|word| secrets.mask(word))
            .collect(),
        action: input.action,
        package: input.package,
        directory: input.directory,
        started: input.started,
        duration_us: input.duration_us,
        verdict: input.verdict,
        problems: Vec::new(),
        steps: Vec::new(),
        phases: input.phases,
        files: Vec::new(),
        resources: Vec::new(),
        review: Vec::new(),
        notes: Vec::new(),
    };
    model.problems = input.problems;
    for problem in &mut model.problems {
        secrets.mask_in_place(&mut problem.message);
        problem
            .hint
            .iter_mut()
            .for_each(|hint| secrets.mask_in_place(hint));
    }
    let texts = FileTexts {
        files: &input.files,
        read: input.read,
    };
    let mut resources = ResourceTable::default();
    for (index, step) in input.steps.into_iter().enumerate() {
        let step = step_report(step, index, &texts, &secrets, &mut resources);
        model.problems.extend(problems_of(&step, index));
        model.steps.push(step);
    }
    let severity_rank = |problem: &ReportProblem| usize::from(problem.severity != "error");
    model.problems.sort_by_key(severity_rank);
    add_files(&mut model, &input.files, &secrets);
    model.resources = resources.finish(&input.files);
    visible(model)
}

/// The contents of files after the run.
struct FileTexts<'a> {
    files: &'a [ChangedFile],
    read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl FileTexts<'_> {
    fn line(&self, item: &ResultItem) -> Option<usize> {
        let file = item.file.as_ref()?;
        let changed = self.files.iter().find(|changed| changed.path == file.path);
        let text = match changed {
            Some(changed) => changed.after.clone().or_else(|| changed.before.clone()),
            None => (self.read)(&file.path),
        }?;
        let field = item.field.as_ref().map_or("", |field| &field.path);
        find_line(&text, usize::try_from(file.index).ok()?, field)
    }
}

fn step_report(
    step: StepInput,
    index: usize,
    texts: &FileTexts<'_>,
    secrets: &SecretMask,
    resources: &mut ResourceTable,
) -> StepReport {
    let touched = step.touched.into_iter();
    let results = step.result.results.iter();
    let mut stderr = secrets.mask(&step.result.stderr);
    cut(&mut stderr, MOST_STDERR_BYTES);
    StepReport {
        package: step.package,
        function: secrets.mask(&step.function),
        kind: step.kind,
        identity: step.identity.map(|identity| secrets.mask(&identity)),
        status: step.status,
        start_us: step.start_us,
        duration_us: step.duration_us,
        resources_in: step.resources_in,
        resources_out: step.resources_out,
        touched: touched.map(|one| resources.touch(one, index)).collect(),
        exit_code: step.result.exit_code,
        stderr,
        results: results
            .map(|item| result_report(item, texts, secrets))
            .collect(),
    }
}

fn result_report(item: &ResultItem, texts: &FileTexts<'_>, secrets: &SecretMask) -> ResultReport {
    let severity = match item.known_severity() {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warning",
        Some(Severity::Info) | None => "info",
    };
    let field = item.field.clone().unwrap_or_default();
    let resource = item.resource_ref.as_ref();
    ResultReport {
        severity: severity.to_owned(),
        message: secrets.mask(&item.message),
        resource: resource.map_or(String::new(), |of| {
            resource_title(&of.kind, &of.namespace, &of.name)
        }),
        line: texts.line(item),
        file: item
            .file
            .as_ref()
            .map_or(String::new(), |file| file.path.clone()),
        field: field.path,
        current_value: secrets.mask(&field.current_value),
        proposed_value: secrets.mask(&field.proposed_value),
    }
}

/// The errors and warnings that a step reported, or that it failed without a word.
fn problems_of(step: &StepReport, index: usize) -> Vec<ReportProblem> {
    let grave = step.results.iter().filter(|item| item.severity != "info");
    let mut problems: Vec<ReportProblem> =
        grave.map(|item| reported_problem(item, index)).collect();
    let has_error = problems.iter().any(|problem| problem.severity == "error");
    if step.status == StepStatus::Failed && !has_error {
        let last_line = step.stderr.trim_end().lines().next_back();
        problems.push(ReportProblem {
            severity: "error".to_owned(),
            message: match last_line {
                Some(line) => format!("exit code {}: {line}", step.exit_code),
                None => format!("exit code {}", step.exit_code),
            },
            file: None,
            line: None,
            column: None,
            hint: None,
            step: Some(index),
        });
    }
    problems
}

fn reported_problem(item: &ResultReport, index: usize) -> ReportProblem {
    ReportProblem {
        severity: item.severity.clone(),
        message: item.message.clone(),
        file: Some(item.file.clone()).filter(|file| !file.is_empty()),
        line: item.line,
        column: None,
        hint: match item.proposed_value.as_str() {
            "" => None,
            value => Some(format!("set {} to {value}", item.field)),
        },
        step: Some(index),
    }
}

fn add_files(model: &mut ReportModel, files: &[ChangedFile], secrets: &SecretMask) {
    let mut budget = MOST_DIFF_BYTES;
    let (mut masked, mut left_out) = (0, 0);
    for file in files {
        let text = |bytes: &Option<Vec<u8>>| {
            String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
        };
        let (before, after) = (text(&file.before), text(&file.after));
        add_notes(&file.path, &before, &after, &mut model.review);
        let (before, after, has_secrets) = mask_versions(&before, &after);
        masked += usize::from(has_secrets);
        let (diff, lines) = unified(&before, &after);
        let mut diff = secrets.mask(&diff);
        if diff.len() > budget {
            diff.clear();
            left_out += 1;
        }
        budget -= diff.len();
        model.files.push(FileReport {
            path: file.path.clone(),
            change: change_of(file),
            lines,
            diff,
        });
    }
    for note in &mut model.review {
        secrets.mask_in_place(&mut note.before);
        secrets.mask_in_place(&mut note.after);
    }
    if masked > 0 {
        let note = format!("{masked} file(s) contain Secrets; their values are not shown.");
        model.notes.push(note);
    }
    if left_out > 0 {
        model.notes.push(format!(
            "The diffs of {left_out} file(s) are left out, because the report would be too large. \
             `kiln fn render --dry-run` prints all of them."
        ));
    }
}

fn change_of(file: &ChangedFile) -> ReportChange {
    match (&file.before, &file.after) {
        (None, _) => ReportChange::Added,
        (_, None) => ReportChange::Deleted,
        _ => ReportChange::Changed,
    }
}

/// The hunks of a unified diff, and the numbers of lines.
fn unified(before: &str, after: &str) -> (String, LineCounts) {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = LineCounts::default();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => lines.added += 1,
            ChangeTag::Delete => lines.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    (diff.unified_diff().context_radius(3).to_string(), lines)
}

/// The resources of a report, each once. A function may change the namespace of a resource, which remains the same resource.
#[derive(Default)]
struct ResourceTable {
    rows: Vec<ResourceReport>,
    /// By kind, name and file.
    indices: BTreeMap<(String, String, String), usize>,
}

impl ResourceTable {
    /// The index of the row of a resource that this step touched.
    fn touch(&mut self, touched: TouchedResource, step: usize) -> usize {
        let TouchedResource { id, file } = touched;
        let api_version = match id.gvk.group.as_str() {
            "" => id.gvk.version,
            group => format!("{group}/{}", id.gvk.version),
        };
        let key = (id.gvk.kind.clone(), id.name.clone(), file.clone());
        let index = *self.indices.entry(key).or_insert(self.rows.len());
        if index == self.rows.len() {
            self.rows.push(ResourceReport {
                api_version,
                kind: id.gvk.kind,
                namespace: String::new(),
                name: id.name,
                file,
                change: ReportChange::Unchanged,
                steps: Vec::new(),
            });
        }
        if let Some(row) = self.rows.get_mut(index) {
            row.namespace = id.namespace;
            if row.steps.last() != Some(&step) {
                row.steps.push(step);
            }
        }
        index
    }

    /// The rows, with what happened to their files.
    fn finish(mut self, files: &[ChangedFile]) -> Vec<ResourceReport> {
        let changes: BTreeMap<&str, ReportChange> = files
            .iter()
            .map(|file| (file.path.as_str(), change_of(file)))
            .collect();
        for row in &mut self.rows {
            if let Some(change) = changes.get(row.file.as_str()) {
                row.change = *change;
            }
        }
        self.rows
    }
}
