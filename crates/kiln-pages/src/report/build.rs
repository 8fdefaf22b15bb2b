//! Builds the model from what a command knows at its end.

use kiln_krm::ResourceId;
use kiln_krm::kptfile::{Function, Selector};
use kiln_krm::results::{FunctionResult, ResultItem, Severity};
use kiln_krm::secrets::{SecretMask, SecretValues};
use kiln_yaml::Document;
use sha2::{Digest as _, Sha256};

use super::changed_files::{ChangedFile, add_files};
use super::command_words::{command_line, mask_arguments};
use super::declaration::{ConfigValues, config_text, selector_text, step_command};
use super::file_texts::FileTexts;
use super::github::in_directory;
use super::model::{
    LockFileState, LockReport, MODEL_VERSION, PhaseTime, ReportAction, ReportChange, ReportModel,
    ReportProblem, ResultReport, StepKind, StepPosition, StepReport, StepStatus, Verdict,
    resource_title,
};
use super::outside_texts::clean;
use super::resource_table::ResourceTable;

/// What a command knows at its end.
pub struct ReportInput<'a> {
    pub tool: String,
    pub platform: String,
    pub command: Vec<String>,
    pub action: ReportAction,
    pub package: String,
    pub directory: String,
    pub repository_directory: Option<String>,
    pub is_written_elsewhere: bool,
    pub started: String,
    pub duration_us: u64,
    pub verdict: Verdict,
    /// Errors of the command itself. Those that functions report are found in `steps`.
    pub problems: Vec<ReportProblem>,
    pub steps: Vec<StepInput>,
    pub phases: Vec<PhaseTime>,
    pub files: Vec<ChangedFile>,
    pub lock: Option<LockInput>,
    pub config_values: ConfigValues,
    /// The values of all Secrets that the command read or made.
    pub secrets: SecretValues,
    /// The content of a file of the package that did not change.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// The lock file that a render used.
pub struct LockInput {
    pub file: String,
    pub text: Vec<u8>,
    pub state: LockFileState,
}

/// One call of a function.
pub struct StepInput {
    pub package: String,
    /// The directory of that package, relative to the root package.
    pub directory: String,
    pub function: String,
    /// As it is declared in the pipeline or on the command line.
    pub declared: Option<Box<Function>>,
    pub config: Option<Document>,
    pub position: Option<StepPosition>,
    pub is_cached: bool,
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
        command: mask_arguments(&input.command),
        action: input.action,
        package: input.package,
        directory: input.directory,
        repository_directory: input.repository_directory,
        is_written_elsewhere: input.is_written_elsewhere,
        started: input.started,
        duration_us: input.duration_us,
        verdict: input.verdict,
        problems: input.problems,
        steps: Vec::new(),
        phases: input.phases,
        files: Vec::new(),
        resources: Vec::new(),
        review: Vec::new(),
        notes: Vec::new(),
        lock: input.lock.map(lock_report),
    };
    let changes = add_files(&mut model, &input.files, &secrets);
    let mut texts = FileTexts::new(&input.files, input.read);
    // Of what is in no file only the steps are known.
    let without_file = match model.is_written_elsewhere && input.files.is_empty() {
        true => ReportChange::Changed,
        false => ReportChange::Unchanged,
    };
    let mut resources = ResourceTable::new(&changes, without_file);
    let declarations = Declarations {
        directory: &model.directory.clone(),
        action: model.action,
        config_values: input.config_values,
        secrets: &secrets,
    };
    for (index, step) in input.steps.into_iter().enumerate() {
        let step = step_report(step, index, &mut texts, &mut resources, &declarations);
        let mut reported = problems_of(&step, index);
        let mut own = model.problems.iter_mut().filter(|one| one.step.is_none());
        // The error of the command is about the step that failed: it has the place, the step has the words.
        if step.status == StepStatus::Failed
            && let Some(own) = own.next()
        {
            own.step = Some(index);
            if is_silent(&step) {
                reported.pop();
                let words = last_line(&step.stderr).map(|line| format!(": {line}"));
                own.message.push_str(&words.unwrap_or_default());
            }
        }
        model.problems.extend(reported);
        model.steps.push(step);
    }
    let severity_rank = |problem: &ReportProblem| usize::from(problem.severity != "error");
    model.problems.sort_by_key(severity_rank);
    model.resources = resources.into_rows();
    clean(&mut model, &secrets);
    model
}

fn lock_report(lock: LockInput) -> LockReport {
    let digest = Sha256::digest(&lock.text);
    LockReport {
        file: lock.file,
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        state: lock.state,
    }
}

/// How declarations are shown.
struct Declarations<'a> {
    /// The directory of the root package.
    directory: &'a str,
    action: ReportAction,
    config_values: ConfigValues,
    secrets: &'a SecretMask,
}

impl Declarations<'_> {
    /// The command that runs a step alone. The command of `eval` does that itself.
    fn command(&self, step: &StepInput) -> String {
        match &step.declared {
            Some(declared) if self.action != ReportAction::Eval => {
                let directory = match step.directory.as_str() {
                    "" => self.directory.to_owned(),
                    directory => in_directory(self.directory, directory),
                };
                let words = step_command(&directory, &step.function, declared);
                // A value is not found any more when it is quoted.
                let words = words.iter().map(|word| self.secrets.mask(word));
                command_line(&words.collect::<Vec<String>>())
            }
            _ => String::new(),
        }
    }
}

fn step_report(
    step: StepInput,
    index: usize,
    texts: &mut FileTexts<'_>,
    resources: &mut ResourceTable<'_>,
    declarations: &Declarations<'_>,
) -> StepReport {
    let command = declarations.command(&step);
    let config = step.config.as_ref().map_or_else(String::new, |config| {
        config_text(config, declarations.config_values, declarations.secrets)
    });
    let declared = step.declared.unwrap_or_default();
    let texts_of = |selectors: &[Selector]| selectors.iter().map(selector_text).collect();
    let touched = step.touched.into_iter();
    let results = step.result.results.iter();
    StepReport {
        package: step.package,
        directory: step.directory,
        function: step.function,
        name: declared.name,
        kind: step.kind,
        position: step.position,
        config_path: declared.config_path,
        config,
        selectors: texts_of(&declared.selectors),
        exclude: texts_of(&declared.exclusions),
        command,
        identity: step.identity,
        status: step.status,
        is_cached: step.is_cached,
        start_us: step.start_us,
        duration_us: step.duration_us,
        resources_in: step.resources_in,
        resources_out: step.resources_out,
        touched: touched.map(|one| resources.touch(one, index)).collect(),
        exit_code: step.result.exit_code,
        results: results.map(|item| result_report(item, texts)).collect(),
        stderr: step.result.stderr,
    }
}

fn result_report(item: &ResultItem, texts: &mut FileTexts<'_>) -> ResultReport {
    let severity = severity_of(&item.severity);
    let field = item.field.clone().unwrap_or_default();
    let resource = item.resource_ref.as_ref();
    ResultReport {
        severity: severity.as_str().to_owned(),
        message: item.message.clone(),
        resource: resource.map_or(String::new(), |of| {
            resource_title(&of.kind, &of.namespace, &of.name)
        }),
        line: texts.line(item),
        file: item
            .file
            .as_ref()
            .map_or(String::new(), |file| file.path.clone()),
        field: field.path,
        current_value: field.current_value,
        proposed_value: field.proposed_value,
    }
}

/// The severity that a reader takes a word of a function for. An unknown word must not hide a problem.
fn severity_of(word: &str) -> Severity {
    match word.trim().to_lowercase().as_str() {
        "error" | "fatal" | "critical" => Severity::Error,
        "" | "info" | "debug" | "notice" => Severity::Info,
        _ => Severity::Warning,
    }
}

/// Whether a step reported no error.
fn is_silent(step: &StepReport) -> bool {
    !step.results.iter().any(|item| item.severity == "error")
}

/// The errors and warnings that a step reported, or that it failed without a word.
fn problems_of(step: &StepReport, index: usize) -> Vec<ReportProblem> {
    let grave = step.results.iter().filter(|item| item.severity != "info");
    let mut problems: Vec<ReportProblem> =
        grave.map(|item| reported_problem(item, index)).collect();
    if step.status == StepStatus::Failed && is_silent(step) {
        problems.push(ReportProblem {
            severity: "error".to_owned(),
            message: match last_line(&step.stderr) {
                Some(line) => format!("exit code {}: {line}", step.exit_code),
                None => format!("exit code {}", step.exit_code),
            },
            step: Some(index),
            ..ReportProblem::default()
        });
    }
    problems
}

/// What a program prints last says most about why it failed.
fn last_line(stderr: &str) -> Option<&str> {
    stderr.trim_end().lines().next_back()
}

fn reported_problem(item: &ResultReport, index: usize) -> ReportProblem {
    ReportProblem {
        severity: item.severity.clone(),
        message: item.message.clone(),
        resource: item.resource.clone(),
        field: item.field.clone(),
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
