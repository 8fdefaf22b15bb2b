//! Why a render failed: the cause, and the operations and packages it passed on its way up.
//!
//! The way is kept because the Kptfile's status tells it ([`Trace::chain_text`]); the terminal shows the cause only
//! ([`RenderError::message`]). Both texts are kpt's.

use kiln_krm::kptfile::{InvalidPipeline, KptfileError};
use kiln_krm::paths;

/// What went wrong at the bottom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A function failed and the log has told everything about it.
    Told,
    /// A package's Kptfile cannot be used.
    Kptfile(Box<KptfileError>),
    /// A package's pipeline cannot be run: found when the package was read.
    Pipeline(Box<InvalidPipeline>),
    /// A package's pipeline cannot be run: found when it was about to run. Never empty.
    PipelineAtRun(Vec<InvalidPipeline>),
    /// Anything else.
    Text(String),
}

impl Failure {
    /// The failure as the end of a chain of causes.
    pub fn chain_text(&self) -> String {
        match self {
            Failure::Told => "already handled error".to_owned(),
            Failure::Kptfile(error) => error.chain_text(),
            Failure::Pipeline(error) => error.chain_text(),
            Failure::PipelineAtRun(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                texts.join("\n")
            }
            Failure::Text(text) => text.clone(),
        }
    }
}

/// A failure and one step of its way up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    operation: &'static str,
    /// The package's absolute path; empty if a step outside says the same.
    package: String,
    cause: Cause,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Cause {
    Failure(Failure),
    Trace(Box<Trace>),
}

/// What goes up: a failure, or one that passed a step already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Raised {
    Failure(Failure),
    Trace(Trace),
    /// A trace in a sentence of its own, which nobody gets to see but which keeps it from being shortened.
    Enclosed(Trace),
}

impl From<Failure> for Raised {
    fn from(failure: Failure) -> Raised {
        Raised::Failure(failure)
    }
}

impl From<Trace> for Raised {
    fn from(trace: Trace) -> Raised {
        Raised::Trace(trace)
    }
}

impl Trace {
    /// A further step; what the step below says in the same words, it says no more.
    pub(crate) fn new(operation: &'static str, package: &str, cause: impl Into<Raised>) -> Trace {
        let cause = match cause.into() {
            Raised::Failure(failure) => Cause::Failure(failure),
            Raised::Enclosed(trace) => Cause::Trace(Box::new(trace)),
            Raised::Trace(mut trace) => {
                if trace.package == package {
                    trace.package.clear();
                }
                if trace.operation == operation {
                    trace.operation = "";
                }
                Cause::Trace(Box::new(trace))
            }
        };
        Trace {
            operation,
            package: package.to_owned(),
            cause,
        }
    }

    /// What went wrong at the bottom.
    pub fn failure(&self) -> &Failure {
        let mut trace = self;
        loop {
            match &trace.cause {
                Cause::Failure(failure) => return failure,
                Cause::Trace(inner) => trace = inner,
            }
        }
    }

    /// The whole chain; packages are named as seen from `working_directory`.
    pub fn chain_text(&self, working_directory: &str) -> String {
        let mut text = String::new();
        let mut trace = self;
        loop {
            let mut own = Vec::new();
            if !trace.operation.is_empty() {
                own.push(trace.operation.to_owned());
            }
            if !trace.package.is_empty() {
                let package = seen_from(working_directory, &trace.package);
                own.push(format!("pkg {package}"));
            }
            let own = own.join(": ");
            let pad = |text: &mut String, separator: &str| {
                if !text.is_empty() {
                    text.push_str(separator);
                }
            };
            if !own.is_empty() {
                pad(&mut text, ":\n\t");
                text.push_str(&own);
            }
            match &trace.cause {
                Cause::Trace(inner) => trace = inner,
                Cause::Failure(failure) => {
                    pad(&mut text, if own.is_empty() { ":\n\t" } else { ": " });
                    text.push_str(&failure.chain_text());
                    return text;
                }
            }
        }
    }
}

/// A path below a directory as it is seen from there; any other path is absolute.
fn seen_from(directory: &str, path: &str) -> String {
    match paths_relative(directory, path) {
        Some(relative) if !relative.starts_with("..") => relative,
        _ => path.to_owned(),
    }
}

/// The way from one absolute path to another.
pub(crate) fn paths_relative(from: &str, to: &str) -> Option<String> {
    if !from.starts_with('/') || !to.starts_with('/') {
        return None;
    }
    let (from, to) = (paths::clean(from), paths::clean(to));
    let parts = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let (from, to) = (parts(&from), parts(&to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let down = to.iter().skip(common).map(String::as_str);
    let way: Vec<&str> = up.chain(down).collect();
    Some(match way.is_empty() {
        true => ".".to_owned(),
        false => way.join("/"),
    })
}

/// Why a command failed, as the user gets to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RenderError {
    /// It happened in a package.
    Traced(Trace),
    /// It happened outside of all packages.
    Plain(String),
}

impl RenderError {
    /// What is printed: nothing if all was told before.
    pub fn message(&self) -> Option<String> {
        let failure = match self {
            RenderError::Traced(trace) => trace.failure(),
            RenderError::Plain(text) => return Some(format!("error: {text}")),
        };
        match failure {
            Failure::Told => None,
            Failure::Kptfile(error) => Some(format!("{error} ")),
            Failure::Pipeline(error) => Some(format!("{error} ")),
            Failure::PipelineAtRun(errors) => errors.first().map(|error| format!("{error} ")),
            Failure::Text(text) => Some(format!("Error: {text} ")),
        }
    }
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RenderError::Traced(trace) => f.write_str(&trace.failure().chain_text()),
            RenderError::Plain(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for RenderError {}

impl From<Trace> for RenderError {
    fn from(trace: Trace) -> RenderError {
        RenderError::Traced(trace)
    }
}
