//! Rendering contents, and what there is to say about it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use kiln_krm::package::FileChange;
use kiln_krm::record::UnknownKeys;
use kiln_krm::results::FunctionResultList;
use kiln_render::{
    Behaviour, Event, FunctionOptions, Jobs, Log, RenderError, RenderOptions, Tags, Trace, render,
};
use kiln_runtime::{CancelToken, Limits, Network, Runtime};

use crate::contents::Contents;
use crate::repository::{RepositoryConfig, RunnerOptions};

/// Finds what runs the functions of a repository's packages.
pub trait Runners: Sync {
    /// The runtime for a repository, by its runner options.
    fn runtime(
        &self,
        repository: &RepositoryConfig,
    ) -> Result<Arc<dyn Runtime>, Box<dyn Error + Send + Sync>>;
}

/// How packages are rendered.
pub struct RenderSettings<'a> {
    /// Finds what runs functions.
    pub runners: &'a dyn Runners,
    /// What stands before the short names of images.
    pub image_prefix: &'a str,
    /// Finds the tags of images.
    pub tags: &'a dyn Tags,
    /// Whether command lines may be run. Packages come from others, so the usual answer is no.
    pub allow_exec: bool,
    /// What the caller insists on. What it leaves open is as the repository says.
    pub asked: RunnerOptions,
    /// The time that each function has if nobody says.
    pub timeout: Option<Duration>,
    /// What each function may use if nobody says.
    pub limits: Limits,
    /// How much is done at the same time.
    pub jobs: Jobs,
    /// Whether resources of the Config Connector are marked.
    pub attribution: bool,
    /// Tells that the user has given up.
    pub cancel: CancelToken,
    /// Hears what happens.
    pub log: &'a dyn Log,
}

/// How a render went.
#[derive(Clone, PartialEq, Debug)]
pub struct RenderStatus {
    /// What each function said.
    pub result: FunctionResultList,
    /// Why it failed; empty if it did not.
    pub error: String,
}

impl RenderStatus {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.error.is_empty() && self.result.items.is_empty()
    }
}

/// What a render came to.
#[derive(Clone, Debug)]
pub struct RenderedContents {
    /// The files; after a failure those that are to be kept, which tell of it in the Kptfile.
    pub contents: Contents,
    /// How it went.
    pub status: RenderStatus,
}

/// Tells what Kptfiles have that they should not: it may be a misspelt pipeline, which does nothing.
fn warn_of_unknown_fields(contents: &Contents, log: &dyn Log) {
    for path in contents.paths().filter(|path| path.name() == FILE_NAME) {
        let bytes = contents.bytes(path.as_str()).unwrap_or_default();
        let Err(problem) = Kptfile::read(bytes) else {
            continue;
        };
        if Kptfile::read_with(bytes, UnknownKeys::Ignore).is_ok() {
            log.event(&Event::Warning(&format!("{path}: {problem}")));
        }
    }
}

/// Renders the package in `contents`. `name` is the path by which messages know it.
///
/// Without a Kptfile nothing happens.
pub fn render_contents(
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
    };
    let Some(directory) = topmost_package(contents) else {
        return Ok(untouched(String::new()));
    };
    let runtime = settings.runners.runtime(repository)?;
    let root = format!("/packages/{}/{name}", repository.name);
    let root = match directory {
        "" => root,
        directory => format!("{root}/{directory}"),
    };
    let (asked, runner) = (&settings.asked, &repository.runner);
    // No time at all means all the time in the world.
    let timeout = asked.timeout.or(runner.timeout).or(settings.timeout);
    let max_output = asked.max_output.or(runner.max_output);
    let options = RenderOptions {
        functions: FunctionOptions {
            behaviour: Behaviour::Kiln,
            runtime: &*runtime,
            image_prefix: settings.image_prefix,
            tags: settings.tags,
            network: Network::None,
            timeout: timeout.filter(|timeout| !timeout.is_zero()),
            limits: Limits {
                max_output: max_output.unwrap_or(settings.limits.max_output),
                memory: asked.memory.or(runner.memory).or(settings.limits.memory),
            },
            threads: settings.jobs.count,
            cancel: settings.cancel.clone(),
        },
        root: &root,
        working_directory: &root,
        allow_exec: settings.allow_exec,
        jobs: settings.jobs,
        attribution: settings.attribution,
        // Others may know what they mean; they are kept.
        unknown_fields: UnknownKeys::Ignore,
    };
    warn_of_unknown_fields(contents, settings.log);
    let files = contents.to_files_below(directory);
    let mut rendered = match render(&files, &options, settings.log) {
        Ok(rendered) => rendered,
        Err(error) => return Ok(untouched(error_text(&error, &root))),
    };
    let error = rendered
        .error
        .as_ref()
        .map(|error| error_text(error, &root));
    let mut status = RenderStatus {
        result: std::mem::take(&mut rendered.results),
        error: error.unwrap_or_default(),
    };
    let mut changed = contents.clone();
    match rendered.plan(&files) {
        Err(error) => status.error = error.to_string(),
        Ok(changes) => {
            let changes = below(directory, changes);
            if let Err(error) = changed.apply(&changes) {
                status.error = error.to_string();
                changed = contents.clone();
            }
        }
    }
    Ok(RenderedContents {
        contents: changed,
        status,
    })
}

/// The directory of the package that has no other around it: the shallowest, then the first by name.
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

fn below(directory: &str, changes: Vec<FileChange>) -> Vec<FileChange> {
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

/// The whole chain of causes, with the package as `.`; of a function that failed, its name and how it ended.
fn error_text(error: &RenderError, root: &str) -> String {
    match error {
        RenderError::Traced(trace) => traced_text(trace, root),
        RenderError::Plain(text) => text.clone(),
    }
}

fn traced_text(trace: &Trace, root: &str) -> String {
    trace.chain_text(root).replace(root, ".")
}
