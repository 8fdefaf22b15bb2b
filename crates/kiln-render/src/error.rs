//! Why a render failed: the cause, and the operations and packages that it passed on its way up.
//!
//! The status of the Kptfile has the whole chain ([`Trace::chain_text`]), the terminal only the cause
//! ([`RenderError::message`]). Both texts are kpt's.

use std::error::Error;
use std::sync::Arc;

use kiln_go::{error_chain, quote};
use kiln_krm::check::ListNotKrm;
use kiln_krm::image::NoMatchingTag;
use kiln_krm::kptfile::{FunctionKind, InvalidPipeline, KptfileError};
use kiln_krm::paths;
use kiln_krm::read::ReadError;
use kiln_krm::secrets::SecretMask;
use kiln_runtime::{Outcome, PeerProblem, StartError};

/// The cause of a failed render.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A function failed; the log has its results and its standard error.
    Exit(Box<Exit>),
    /// A package's Kptfile cannot be used.
    Kptfile(Box<KptfileError>),
    /// A package's pipeline cannot be run: found when the package was read.
    Pipeline(Box<InvalidPipeline>),
    /// A package's pipeline cannot be run: found when it was about to run. Never empty.
    PipelineAtRun(Vec<InvalidPipeline>),
    /// A file of a package does not contain resources.
    File(Box<UnreadableFile>),
    /// The input or the output of a function has something that is not a resource.
    NotKrm(Box<ListNotKrm>),
    /// A function is a program, and programs are not allowed.
    ExecNotAllowed,
    /// No evaluator runs the function.
    NotFound(String),
    /// No evaluator that knows the function is allowed to run it.
    Denied(Unavailability),
    /// A program could not be started.
    NotStarted(Box<StartError>),
    /// The container engine, or another thing that is needed to run the function, is not available.
    Unavailable(Unavailability),
    /// The function runner could not run the function, or cannot be reached.
    Remote {
        /// The error with its causes.
        text: String,
        /// The problem of the connection, if it is known.
        problem: Option<PeerProblem>,
    },
    /// No known version of an image matches.
    NoMatchingTag(NoMatchingTag),
    /// The output of a function is not a list of resources.
    BadOutput(String),
    /// The output of a function is empty, or a list without items.
    NoItems(String),
    /// A function that exited with 0 reported errors in its results.
    ReportedErrors {
        /// The image or command line.
        function: String,
        /// How many there are.
        count: usize,
    },
    /// Any other failure.
    Text(String),
}

/// Something that a function needs and that is not available. Two are equal if their texts are.
#[derive(Clone, Debug)]
pub struct Unavailability {
    /// Without room to grow: errors stay small.
    text: Box<str>,
    error: Arc<dyn Error + Send + Sync>,
}

impl Unavailability {
    pub(crate) fn new(error: impl Into<Arc<dyn Error + Send + Sync>>) -> Unavailability {
        let error = error.into();
        Unavailability {
            text: error_chain(&*error).into(),
            error,
        }
    }

    /// The error of the evaluator.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl PartialEq for Unavailability {
    fn eq(&self, other: &Unavailability) -> bool {
        self.text == other.text
    }
}

impl Eq for Unavailability {}

/// How a function ended that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The same in Go's words: `exit status 7`, `signal: killed`.
    pub text: String,
}

impl Exit {
    /// How a function ended.
    pub fn of(outcome: &Outcome) -> Exit {
        Exit {
            code: outcome.exit_code,
            signal: outcome.signal,
            text: outcome.exit_text(),
        }
    }
}

/// A file that cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadableFile {
    /// Relative to the root package.
    pub path: String,
    /// The absolute path, by which kpt names it.
    pub absolute: String,
    pub error: ReadError,
}

/// Which function of a package's pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionPlace {
    /// The list that contains it.
    pub kind: FunctionKind,
    /// The index in the list.
    pub index: usize,
}

impl Failure {
    /// The failure without the values of Secrets, in texts that come from a function.
    pub(crate) fn without_secrets(mut self, secrets: &SecretMask) -> Failure {
        if let Failure::BadOutput(text)
        | Failure::NoItems(text)
        | Failure::Text(text)
        | Failure::Remote { text, .. } = &mut self
        {
            secrets.mask_in_place(text);
        }
        if let Failure::NotKrm(error) = &mut self {
            secrets.mask_in_place(&mut error.path);
            secrets.mask_in_place(&mut error.index);
        }
        self
    }

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
            Failure::ExecNotAllowed => {
                "must run with `--allow-exec` option to allow running function binaries".to_owned()
            }
            Failure::NotStarted(error) => format!("unexpected function error: {error}"),
            Failure::NoMatchingTag(error) => error.to_string(),
            Failure::ReportedErrors { function, count } => {
                let function = quote(function);
                format!("function {function} reported {count} error(s) in its results")
            }
            Failure::Unavailable(unavailability) | Failure::Denied(unavailability) => {
                unavailability.text.to_string()
            }
            Failure::Remote { text, .. }
            | Failure::NotFound(text)
            | Failure::BadOutput(text)
            | Failure::NoItems(text)
            | Failure::Text(text) => text.clone(),
        }
    }
}

/// A failure and one step of its way up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    operation: &'static str,
    /// The package's absolute path; empty if an outer step has the same.
    package: String,
    function: Option<FunctionPlace>,
    cause: Cause,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Cause {
    Failure(Failure),
    Trace(Box<Trace>),
}

/// What a step returns: a failure, or a trace with one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Raised {
    Failure(Failure),
    Trace(Trace),
    /// A trace that a step of kpt encloses, so that it is not shortened.
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
    /// Adds a step. Operation and package are not repeated.
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

    /// The absolute path of the package that failed.
    pub fn package(&self) -> &str {
        let steps = self.steps().filter(|trace| !trace.package.is_empty());
        steps.last().map_or("", |trace| &trace.package)
    }

    /// The function that failed.
    pub fn function(&self) -> Option<FunctionPlace> {
        self.steps().filter_map(|trace| trace.function).last()
    }

    fn steps(&self) -> impl Iterator<Item = &Trace> {
        std::iter::successors(Some(self), |trace| match &trace.cause {
            Cause::Trace(inner) => Some(&**inner),
            Cause::Failure(_) => None,
        })
    }

    /// The cause.
    pub fn failure(&self) -> &Failure {
        let mut trace = self;
        loop {
            match &trace.cause {
                Cause::Failure(failure) => return failure,
                Cause::Trace(inner) => trace = inner,
            }
        }
    }

    /// The whole chain. Paths of packages are relative to `working_directory`.
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

/// A path relative to a directory that contains it; any other path is absolute.
fn seen_from(directory: &str, path: &str) -> String {
    match paths_relative(directory, path) {
        Some(relative) if !relative.starts_with("..") => relative,
        _ => path.to_owned(),
    }
}

/// The relative path from one absolute path to another.
pub(crate) fn paths_relative(from: &str, to: &str) -> Option<String> {
    if !from.starts_with('/') || !to.starts_with('/') {
        return None;
    }
    if from == to {
        return Some(".".to_owned());
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

/// Why a render failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RenderError {
    /// It failed in a package.
    Traced(Trace),
    /// It failed outside of all packages.
    Plain(String),
}

impl RenderError {
    /// What kpt prints; `None` for a failed function, which the log has.
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
