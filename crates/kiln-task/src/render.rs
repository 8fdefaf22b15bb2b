//! Renders contents in memory.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use kiln_krm::kptfile::{FILE_NAME, Kptfile, KptfileProblem};
use kiln_krm::package::FileChange;
use kiln_krm::record::{DecodeError, Misfit, UnknownKeys};
use kiln_krm::results::FunctionResultList;
use kiln_render::{
    Event, FunctionOptions, Jobs, Log, RenderCompat, RenderError, RenderOptions, Rendered, Tags,
    TouchedResources, Trace, render,
};
use kiln_runtime::{CancelToken, Evaluator, Limits, Network};

use crate::contents::Contents;
use crate::repository::{RepositoryConfig, RunnerOptions};

/// Provides the evaluators of functions, by repository.
pub trait RepositoryEvaluators: Sync {
    /// The evaluator for the packages of a repository.
    fn evaluator(
        &self,
        repository: &RepositoryConfig,
    ) -> Result<Arc<dyn Evaluator>, Box<dyn Error + Send + Sync>>;
}

/// How packages are rendered, whatever repository they are in.
pub struct RenderSettings<'a> {
    pub runners: &'a dyn RepositoryEvaluators,
    /// The prefix for image names without a registry.
    pub image_prefix: &'a str,
    pub tags: &'a dyn Tags,
    /// Whether programs may be run. Packages are not trusted, so the default is no.
    pub allow_exec: bool,
    /// Options that take precedence over those of the repository.
    pub overrides: RunnerOptions,
    /// The default time limit of each function.
    pub timeout: Option<Duration>,
    /// The default limits of each function.
    pub limits: Limits,
    pub jobs: Jobs,
    /// Whether resources of the Config Connector get kpt's attribution annotation.
    pub attribution: bool,
    pub cancel: CancelToken,
    pub log: &'a dyn Log,
}

/// The render status of Porch's API.
#[derive(Clone, PartialEq, Debug)]
pub struct RenderStatus {
    pub result: FunctionResultList,
    /// The error; empty if rendering succeeded.
    pub error: String,
}

impl RenderStatus {
    pub fn is_empty(&self) -> bool {
        self.error.is_empty() && self.result.items.is_empty()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RenderedContents {
    /// The rendered files. After a failure, the files to keep, with the status in the Kptfile.
    pub(crate) contents: Contents,
    pub(crate) status: RenderStatus,
    pub(crate) failed: Option<Box<FailedRender>>,
}

/// A failed render, for messages with a position in a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FailedRender {
    pub error: RenderError,
    /// The files before rendering.
    pub contents: Contents,
    /// The directory of the topmost package in the contents.
    pub directory: String,
    /// The path of this package in the error.
    pub root: String,
}

/// Warns about unknown fields of Kptfiles, because a misspelt `pipeline` does nothing.
fn warn_of_unknown_fields(contents: &Contents, log: &dyn Log) {
    for path in contents.paths().filter(|path| path.name() == FILE_NAME) {
        let bytes = contents.bytes(path.as_str()).unwrap_or_default();
        let Err(problem) = Kptfile::read(bytes) else {
            continue;
        };
        if Kptfile::read_with(bytes, UnknownKeys::Ignore).is_ok() {
            log.event(Event::Warning(unknown_fields(path.as_str(), &problem)));
        }
    }
}

/// The text about fields that a Kptfile does not have.
fn unknown_fields(path: &str, problem: &KptfileProblem) -> String {
    let KptfileProblem::Decode(DecodeError::Misfits(misfits)) = problem else {
        return format!("{path}: {problem}");
    };
    let texts = misfits.iter().map(|Misfit { line, problem }| {
        let (text, hint) = (problem.plain_text(), problem.hint());
        format!("{path}:{line}: {text}; {hint}")
    });
    texts.collect::<Vec<String>>().join("\n")
}

/// Renders the package in `contents`. `name` is its path in messages. Without a Kptfile nothing is rendered.
pub(crate) fn render_contents(
    contents: &Contents,
    name: &str,
    repository: &RepositoryConfig,
    settings: &RenderSettings<'_>,
) -> Result<RenderedContents, Box<dyn Error + Send + Sync>> {
    let untouched = |error: String| RenderedContents {
        contents: contents.clone(),
        status: RenderStatus {
            result: FunctionResultList::new(),
            error,
        },
        failed: None,
    };
    let Some(directory) = topmost_package(contents) else {
        return Ok(untouched(String::new()));
    };
    let evaluator = settings.runners.evaluator(repository)?;
    let root = format!("/packages/{}/{name}", repository.name);
    let root = match directory {
        "" => root,
        directory => format!("{root}/{directory}"),
    };
    let (overrides, runner) = (&settings.overrides, &repository.runner);
    // Zero means no limit.
    let timeout = overrides.timeout.or(runner.timeout).or(settings.timeout);
    let max_output = overrides.max_output.or(runner.max_output);
    let options = RenderOptions {
        functions: FunctionOptions {
            compat: RenderCompat::Kiln,
            evaluator: &*evaluator,
            image_prefix: settings.image_prefix,
            tags: settings.tags,
            pins: None,
            network: Network::None,
            timeout: timeout.filter(|timeout| !timeout.is_zero()),
            limits: Limits {
                max_output: max_output.unwrap_or(settings.limits.max_output),
                memory: overrides
                    .memory
                    .or(runner.memory)
                    .or(settings.limits.memory),
            },
            threads: settings.jobs.count,
            cancel: settings.cancel.clone(),
            touched: TouchedResources::Ignore,
            wants_identity: false,
        },
        root: &root,
        working_directory: &root,
        allow_exec: settings.allow_exec,
        jobs: settings.jobs,
        attribution: settings.attribution,
        // Unknown fields are kept: a newer version may know them.
        unknown_fields: UnknownKeys::Ignore,
    };
    warn_of_unknown_fields(contents, settings.log);
    let files = contents.to_files_below(directory);
    let failed = |error: RenderError| {
        Box::new(FailedRender {
            error,
            contents: contents.clone(),
            directory: directory.to_owned(),
            root: root.clone(),
        })
    };
    let Rendered { report, output } = match render(&files, &options, settings.log) {
        Ok(rendered) => rendered,
        Err(error) => {
            return Ok(RenderedContents {
                failed: Some(failed(error.clone())),
                ..untouched(error_text(&error, &root))
            });
        }
    };
    let error = report.error.as_ref();
    let mut status = RenderStatus {
        result: report.results,
        error: error.map_or_else(String::new, |error| error_text(error, &root)),
    };
    let failed = report.error.map(failed);
    let mut changed = contents.clone();
    match output.plan(&files) {
        Err(error) => status.error = error.to_string(),
        Ok(plan) => {
            let changes = with_directory(directory, plan.changes);
            if let Err(error) = changed.apply(&changes) {
                status.error = error.to_string();
                changed = contents.clone();
            }
        }
    }
    Ok(RenderedContents {
        contents: changed,
        status,
        failed,
    })
}

/// The directory of the topmost Kptfile: the one with the fewest segments, then the first by name.
fn topmost_package(contents: &Contents) -> Option<&str> {
    let kptfiles = contents.paths().filter(|path| path.name() == FILE_NAME);
    let directories = kptfiles.map(|path| path.directory());
    directories.min_by_key(|directory| {
        let depth = match *directory {
            "" => 0,
            directory => 1 + directory.matches('/').count(),
        };
        (depth, *directory)
    })
}

fn with_directory(directory: &str, changes: Vec<FileChange>) -> Vec<FileChange> {
    if directory.is_empty() {
        return changes;
    }
    let changes = changes.into_iter();
    changes
        .map(|change| FileChange {
            path: format!("{directory}/{}", change.path),
            ..change
        })
        .collect()
}

/// The error with all its causes. The directory of the package is shown as `.`.
fn error_text(error: &RenderError, root: &str) -> String {
    match error {
        RenderError::Traced(trace) => traced_text(trace, root),
        RenderError::Plain(text) => text.clone(),
    }
}

fn traced_text(trace: &Trace, root: &str) -> String {
    trace.chain_text(root).replace(root, ".")
}
