//! A package in memory, functions by name, and a log that remembers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kiln_krm::package::{FileAction, MemoryFiles};
use kiln_krm::record::UnknownKeys;
use kiln_render::{
    Builtins, Event, FunctionOptions, Jobs, Log, RenderCompat, RenderOptions, RenderReport, Tags,
    TouchedResources, render,
};
use kiln_runtime::{
    CancelToken, Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input, Limits, Network,
    Outcome, Output, RunContext, RunError, Runner, Target,
};

/// A function on the text of its input: exit code, output, stderr.
pub(crate) type Body = fn(&str) -> (i32, String, &'static str);

struct Closure(Body);

impl Runner for Closure {
    fn run(&self, input: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        let (exit_code, answer, stderr) = (self.0)(input.wire());
        Ok(Outcome {
            exit_code,
            signal: None,
            output: Output::Wire(answer.into()),
            stderr: stderr.as_bytes().to_vec(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}

struct Closures(Vec<(&'static str, Body)>);

impl Evaluator for Closures {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Exec(name) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let found = self.0.iter().find(|(known, _)| known == name);
        let found = found.ok_or_else(|| FindError::not_found(function))?;
        Ok(Found::blocking(Closure(found.1)))
    }
}

struct NoTags;

impl Tags for NoTags {
    fn of(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Records events, in short and in full without the times.
#[derive(Default)]
struct Remembering {
    short: RefCell<Vec<String>>,
    whole: RefCell<Vec<String>>,
    touched: RefCell<Vec<Vec<String>>>,
}

impl Log for Remembering {
    fn event(&self, event: Event) {
        let text = match &event {
            Event::Package { name } => format!("package {name}"),
            Event::PackageDone => "done".to_owned(),
            Event::Running {
                function,
                resources,
                ..
            } => match resources {
                Some(count) => format!("run {function} on {count}"),
                None => format!("run {function}"),
            },
            Event::Passed { function, .. } => format!("pass {function}"),
            Event::Failed { function, .. } => format!("fail {function}"),
            Event::Warning(text) => format!("warning {text}"),
        };
        self.short.borrow_mut().push(text);
        if let Event::Passed { record, .. } = &event {
            let ids = record.touched.iter().map(|touched| &touched.id);
            let ids = ids.map(|id| format!("{} {}/{}", id.gvk.group, id.namespace, id.name));
            self.touched.borrow_mut().push(ids.collect());
        }
        let whole = match &event {
            Event::Passed {
                function, result, ..
            } => format!("pass {function}: {result:?}"),
            Event::Failed {
                function,
                result,
                by_exit_code,
                ..
            } => format!("fail {function}: {by_exit_code} {result:?}"),
            other => format!("{other:?}"),
        };
        self.whole.borrow_mut().push(whole);
    }
}

/// A package after a render.
pub(crate) struct After {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) changed: Vec<String>,
    pub(crate) log: Vec<String>,
    pub(crate) events: Vec<String>,
    /// The resources that each function touched, as `GROUP NAMESPACE/NAME`.
    pub(crate) touched: Vec<Vec<String>>,
    pub(crate) rendered: RenderReport,
}

impl After {
    pub(crate) fn file(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    pub(crate) fn message(&self) -> String {
        let error = self.rendered.error.as_ref();
        error.and_then(|error| error.message()).unwrap_or_default()
    }
}

/// Renders files and makes the changes in memory.
pub(crate) fn rendered(
    compat: RenderCompat,
    files: &[(&str, &str)],
    functions: &[(&'static str, Body)],
) -> After {
    let mut memory = MemoryFiles::new();
    for (path, content) in files {
        memory.insert(*path, content.as_bytes());
    }
    let closures = Arc::new(Closures(functions.to_vec()));
    let evaluator = EvaluatorChain::new(vec![("builtin", Arc::new(Builtins)), ("test", closures)]);
    let setup = RenderSetup {
        compat,
        jobs: Jobs::ONE,
        evaluator: &evaluator,
        cancel: CancelToken::new(),
    };
    setup.render(memory)
}

/// The options of a render.
pub(crate) struct RenderSetup<'a> {
    pub(crate) compat: RenderCompat,
    pub(crate) jobs: Jobs,
    pub(crate) evaluator: &'a dyn Evaluator,
    pub(crate) cancel: CancelToken,
}

impl RenderSetup<'_> {
    /// Renders files and makes the changes to them.
    pub(crate) fn render(&self, mut memory: MemoryFiles) -> After {
        let options = RenderOptions {
            functions: FunctionOptions {
                compat: self.compat,
                evaluator: self.evaluator,
                image_prefix: "",
                tags: &NoTags,
                pins: None,
                network: Network::None,
                timeout: None,
                limits: Limits::default(),
                threads: self.jobs.count,
                cancel: self.cancel.clone(),
                touched: TouchedResources::Record,
                wants_identity: false,
            },
            root: "/w/root",
            working_directory: "/w/root",
            allow_exec: true,
            jobs: self.jobs,
            attribution: true,
            unknown_fields: UnknownKeys::Refuse,
        };
        let log = Remembering::default();
        let rendered = render(&memory, &options, &log).expect("the root package is valid");
        let plan = rendered.output.plan(&memory).expect("can be written");
        let mut changed = Vec::new();
        for change in plan.changes {
            match change.action {
                FileAction::Write(content) => memory.insert(change.path.clone(), content),
                FileAction::Delete => {
                    memory.remove(&change.path);
                }
            }
            changed.push(change.path);
        }
        let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
        let files = memory
            .iter()
            .map(|(path, content)| (path.to_owned(), text(content)));
        After {
            files: files.collect(),
            changed,
            log: log.short.into_inner(),
            events: log.whole.into_inner(),
            touched: log.touched.into_inner(),
            rendered: rendered.report,
        }
    }
}

/// A function that changes nothing.
pub(crate) fn pass(input: &str) -> (i32, String, &'static str) {
    (0, input.to_owned(), "")
}

/// A function that writes `new` for `old`.
pub(crate) fn replace(input: &str) -> (i32, String, &'static str) {
    (0, input.replace("old", "new"), "")
}

/// A function that fails.
pub(crate) fn fail(_: &str) -> (i32, String, &'static str) {
    (7, String::new(), "why")
}

pub(crate) fn kptfile(name: &str, rest: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name} # mine\n{rest}")
}

pub(crate) fn config_map(name: &str, value: &str) -> String {
    format!(
        "# about {name}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n\ndata: {{x: {value}}} # data\n"
    )
}
