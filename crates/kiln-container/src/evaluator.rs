//! The evaluator of images by a container engine.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kiln_go::quote;
use kiln_runtime::process::{self, FinishedProcess, Program, StopSignal};
use kiln_runtime::{
    Deadline, Evaluator, FindError, Found, FunctionIdentity, FunctionSpec, Input, Limits, Outcome,
    RunContext, RunError, Runner, Target,
};

use crate::command::{CommandStyle, ContainerOptions, run_arguments};
use crate::engine::{Engine, EngineError};
use crate::progress_lines::without_progress_lines;

/// Runs every image, if an engine is available.
pub struct ContainerEvaluator {
    shared: Arc<EngineState>,
}

/// Why the images that an engine holds cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to list local tags using {}: {reason}; stderr: {stderr}",
    quote(engine)
)]
pub struct TagListError {
    engine: &'static str,
    reason: String,
    stderr: String,
}

/// Time limit of removing a container.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

impl ContainerEvaluator {
    /// Checks nothing: the engine may be missing as long as no function needs it.
    pub fn new(options: ContainerOptions) -> ContainerEvaluator {
        let engine = match options.style {
            CommandStyle::Legacy => Ok(Engine::Docker),
            _ => Engine::parse(&options.engine),
        };
        // kpt has one engine, which the user selects.
        let alternatives: &[Engine] = match options.style {
            CommandStyle::Kiln if options.engine.is_empty() => &[Engine::Podman, Engine::Nerdctl],
            _ => &[],
        };
        let shared = EngineState {
            options,
            engine,
            alternatives,
            checked: Mutex::new(None),
        };
        ContainerEvaluator {
            shared: Arc::new(shared),
        }
    }

    /// The documentation of an image: runs it with `--help` and with an empty list on its standard input.
    pub fn help(
        &self,
        image: &str,
        empty_list: &str,
        ctx: &RunContext,
    ) -> Result<FinishedProcess, RunError> {
        let engine = self.shared.available_engine(ctx)?;
        let arguments = ["run", "--rm", "-i", image, "--help"].map(str::to_owned);
        self.shared.run(engine, &arguments, empty_list, ctx)
    }

    /// The tags of an image that the engine has stored.
    pub fn local_tags(&self, image: &str, ctx: &RunContext) -> Result<Vec<String>, TagListError> {
        let checked = self.shared.checked.lock();
        let checked = checked.unwrap_or_else(PoisonError::into_inner).clone();
        let engine = checked.unwrap_or_else(|| self.shared.engine.clone());
        let engine = engine.unwrap_or(Engine::Docker);
        let fail = |reason, stderr| TagListError {
            engine: engine.program(),
            reason,
            stderr,
        };
        let filter = format!("reference={image}");
        let format = "{{ .Tag }}";
        let arguments = ["image", "ls", "--filter", &filter, "--format", format];
        let listed = engine
            .call(self.shared.search_path(), &arguments, ctx)
            .map_err(|error| fail(error.to_string(), String::new()))?;
        if listed.exit_code != 0 {
            let stderr = String::from_utf8_lossy(&listed.stderr).into_owned();
            return Err(fail(listed.exit_text(), stderr));
        }
        let listed = String::from_utf8_lossy(&listed.stdout);
        let tags = listed.lines().map(str::trim).filter(|tag| !tag.is_empty());
        Ok(tags.map(str::to_owned).collect())
    }
}

impl Evaluator for ContainerEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match function.target {
            Target::Image(_) => Ok(Found::blocking(ContainerRunner {
                shared: Arc::clone(&self.shared),
                function: function.clone(),
            })),
            Target::Exec(_) | Target::Program(_) => Err(FindError::not_found(function)),
        }
    }
}

struct EngineState {
    options: ContainerOptions,
    engine: Result<Engine, EngineError>,
    /// The engines to try if the first is not available.
    alternatives: &'static [Engine],
    /// The engine that is available, which is checked once.
    checked: Mutex<Option<Result<Engine, EngineError>>>,
}

impl EngineState {
    fn search_path(&self) -> &OsStr {
        &self.options.search_path
    }

    /// The engine, if it is available and new enough. The style of kpt v0.39 does not check.
    fn available_engine(&self, ctx: &RunContext) -> Result<Engine, RunError> {
        let unavailable = |error| RunError::Unavailable(Box::new(error));
        let engine = self.engine.clone().map_err(unavailable)?;
        if self.options.style.is_legacy() {
            return Ok(engine);
        }
        // A second caller waits for the result of the first.
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match &*checked {
            Some(answer) => answer.clone(),
            None => {
                let answer = self.first_available(engine, ctx)?;
                checked.insert(answer).clone()
            }
        };
        answer.map_err(unavailable)
    }

    /// The engine, or the first alternative that is available. The error is that of the engine if the user has selected it.
    fn first_available(
        &self,
        engine: Engine,
        ctx: &RunContext,
    ) -> Result<Result<Engine, EngineError>, RunError> {
        let checked = engine.check(self.search_path(), &ctx.cancel)?;
        let Err(error @ EngineError::Unavailable { .. }) = checked else {
            return Ok(checked.map(|()| engine));
        };
        if self.alternatives.is_empty() {
            return Ok(Err(error));
        }
        let mut failed = Vec::from_iter(error.problem(engine));
        for &alternative in self.alternatives {
            match alternative.check(self.search_path(), &ctx.cancel)? {
                Ok(()) => return Ok(Ok(alternative)),
                Err(error) => failed.extend(error.problem(alternative)),
            }
        }
        Ok(Err(EngineError::NoneAvailable { failed }))
    }

    fn run(
        &self,
        engine: Engine,
        arguments: &[String],
        input: &str,
        ctx: &RunContext,
    ) -> Result<FinishedProcess, RunError> {
        let program = Program {
            name: engine.program(),
            arguments,
            search_path: self.search_path(),
            // The engine passes the signal on to the container, which is all that can be done for one without a name.
            stop_signal: StopSignal::Interrupt,
            sandbox: None,
            environment: None,
        };
        // The limit applies to the container, not to the engine's command.
        let limits = Limits {
            memory: None,
            ..ctx.limits
        };
        let ctx = RunContext {
            limits,
            ..ctx.clone()
        };
        process::run(program, input.as_bytes(), &ctx)
    }

    /// The image by the digest under which the engine pulled it; `None` if the engine does not know one, as for images that it
    /// built itself.
    fn identity(&self, engine: Engine, image: &str, ctx: &RunContext) -> Option<FunctionIdentity> {
        let name = image.split('@').next().unwrap_or(image);
        let last = name.rfind('/').map_or(0, |slash| slash + 1);
        let tag = name.get(last..).and_then(|name| name.find(':'));
        let repository = name.get(..tag.map_or(name.len(), |tag| last + tag))?;
        if let Some((_, digest)) = image.split_once('@') {
            return Some(FunctionIdentity::image(repository, digest));
        }
        let format = "{{range .RepoDigests}}{{println .}}{{end}}";
        let arguments = ["image", "inspect", "--format", format, image];
        let inspected = engine.call(self.search_path(), &arguments, ctx).ok()?;
        let printed = String::from_utf8(inspected.stdout).ok()?;
        let digests = printed
            .lines()
            .filter_map(|line| line.trim().split_once('@'));
        // The name may be a short form of the engine's.
        let mut own = digests.filter(|(name, _)| name.ends_with(repository));
        let (_, digest) = own.next().filter(|_| inspected.exit_code == 0)?;
        FunctionIdentity::reported(FunctionIdentity::image(repository, digest).as_str())
    }

    /// Kills and removes a container whose client is gone. It may not exist, so errors do not matter.
    fn remove(&self, engine: Engine, name: &str) {
        for arguments in [&["kill", name][..], &["rm", "--force", name]] {
            // Not the caller's deadline, which has passed, nor the caller's token, which may be cancelled.
            let ctx = RunContext {
                deadline: Deadline::after(REMOVAL_TIMEOUT),
                ..RunContext::default()
            };
            let _ = engine.call(self.search_path(), arguments, &ctx);
        }
    }
}

struct ContainerRunner {
    shared: Arc<EngineState>,
    function: FunctionSpec,
}

impl Runner for ContainerRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let EngineState { options, .. } = &*self.shared;
        let engine = self.shared.available_engine(ctx)?;
        let name = options.style.has_names().then(new_name);
        let memory = ctx.limits.memory;
        let arguments = run_arguments(options, &self.function, name.as_deref(), memory);
        let finished = self.shared.run(engine, &arguments, input.wire(), ctx);
        let client_was_killed = match &finished {
            Ok(finished) => finished.signal.is_some(),
            Err(error) => !matches!(error, RunError::NotStarted(_)),
        };
        if let Some(name) = name
            && client_was_killed
        {
            self.shared.remove(engine, &name);
        }
        let function_stderr = |stderr: Vec<u8>| match options.style.is_legacy() {
            true => stderr,
            false => without_progress_lines(engine, &stderr),
        };
        if finished.is_err() {
            let stderr = ctx.stopped_stderr.take();
            ctx.stopped_stderr.set(function_stderr(stderr));
        }
        let finished = finished.map_err(|error| match error {
            RunError::TimedOut { timeout, stderr } => RunError::TimedOut {
                timeout,
                stderr: function_stderr(stderr),
            },
            error => error,
        })?;
        let mut outcome = Outcome::from(finished);
        outcome.stderr = function_stderr(outcome.stderr);
        if ctx.wants_identity {
            outcome.identity = self.shared.identity(engine, self.function.name(), ctx);
        }
        Ok(outcome)
    }
}

/// A name that is unique on any machine that the engine runs on.
fn new_name() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("kiln-{random:016x}")
}
