//! Why a render failed: the cause, and the operations and packages it passed on its way up.
//!
//! The way is kept because the Kptfile's status tells it ([`Trace::chain_text`]); the terminal shows the cause only
//! ([`RenderError::message`]). Both texts are kpt's.

use kiln_krm::check::ListNotKrm;
use kiln_krm::kptfile::{FunctionKind, InvalidPipeline, KptfileError};
use kiln_krm::paths;
use kiln_krm::read::ReadError;

/// What went wrong at the bottom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A function failed, and the log has told all that it said about it. How it ended is in Go's words: `exit status 7`,
    /// `signal: killed`.
    Exit(String),
    /// A package's Kptfile cannot be used.
    Kptfile(Box<KptfileError>),
    /// A package's pipeline cannot be run: found when the package was read.
    Pipeline(Box<InvalidPipeline>),
    /// A package's pipeline cannot be run: found when it was about to run. Never empty.
    PipelineAtRun(Vec<InvalidPipeline>),
    /// A file of a package holds no resources.
    File(Box<UnreadableFile>),
    /// What a function gets, or what it answered, is not a resource.
    NotKrm(Box<ListNotKrm>),
    /// Something of which more is known than its text.
    Because(Why, String),
    /// Anything else.
    Text(String),
}

/// A file whose content makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadableFile {
    /// Relative to the root package.
    pub path: String,
    /// The absolute path, by which kpt names it.
    pub absolute: String,
    /// What is wrong with it.
    pub error: ReadError,
}

/// What kind of thing went wrong, for those who can tell what to do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A function is a program, and programs may not be run.
    ExecNotAllowed,
    /// No evaluator runs the function.
    NotFound,
    /// A program could not be started.
    NotStarted,
    /// What is needed to run the function is not there.
    Unavailable,
    /// The versions of an image are not known.
    NoTag,
    /// What a function answered is no list of resources.
    BadOutput,
    /// A function answered with nothing, or with a list without items.
    NoItems,
    /// A function that says it succeeded has reported an error.
    Reported,
}

/// Which function of a package's pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionPlace {
    /// In which list it stands.
    pub kind: FunctionKind,
    /// Where in it.
    pub index: usize,
}

impl Failure {
    /// The failure as the end of a chain of causes.
    pub fn chain_text(&self) -> String {
        match self {
            Failure::Exit(_) => "already handled error".to_owned(),
            Failure::Kptfile(error) => error.chain_text(),
            Failure::Pipeline(error) => error.chain_text(),
            Failure::PipelineAtRun(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                texts.join("\n")
            }
            Failure::File(file) => format!("{}: {}", file.absolute, file.error),
            Failure::NotKrm(error) => error.to_string(),
            Failure::Because(_, text) | Failure::Text(text) => text.clone(),
        }
    }
}

/// A failure and one step of its way up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    operation: &'static str,
    /// The package's absolute path; empty if a step outside says the same.
    package: String,
    function: Option<FunctionPlace>,
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
            function: None,
            cause,
        }
    }

    /// The same with the function that failed.
    pub(crate) fn at(self, function: FunctionPlace) -> Trace {
        Trace {
            function: Some(function),
            ..self
        }
    }

    /// The absolute path of the package in which it happened.
    pub fn package(&self) -> &str {
        let steps = self.steps().filter(|trace| !trace.package.is_empty());
        steps.last().map_or("", |trace| &trace.package)
    }

    /// The function at which it happened.
    pub fn function(&self) -> Option<FunctionPlace> {
        self.steps().filter_map(|trace| trace.function).last()
    }

    fn steps(&self) -> impl Iterator<Item = &Trace> {
        std::iter::successors(Some(self), |trace| match &trace.cause {
            Cause::Trace(inner) => Some(&**inner),
            Cause::Failure(_) => None,
        })
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
    /// What kpt prints: nothing if the log has told of a function that failed.
    pub fn message(&self) -> Option<String> {
        let failure = match self {
            RenderError::Traced(trace) => trace.failure(),
            RenderError::Plain(text) => return Some(format!("error: {text}")),
        };
        match failure {
            Failure::Exit(_) => None,
            Failure::Kptfile(error) => Some(format!("{error} ")),
            Failure::Pipeline(error) => Some(format!("{error} ")),
            Failure::PipelineAtRun(errors) => errors.first().map(|error| format!("{error} ")),
            failure => Some(format!("Error: {} ", failure.chain_text())),
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
