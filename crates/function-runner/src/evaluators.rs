//! The runtimes of this machine that flags turn on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use kiln_exec::{ExecRuntime, ImageRuntime, ImageTable, TableEvent};
use kiln_functions::NativeRuntime;
use kiln_krm::image::with_prefix;
use kiln_runtime::{FileValueError, FindError, FunctionSpec, Runner, Runtime, Target};
use kiln_sandbox::{
    InForce, Sandbox, SandboxError, SandboxLimits, SandboxMode, SandboxPolicy, Surroundings,
};
use kiln_server::{Evaluator, Evaluators, WorkerPool};

use crate::config::Config;
use crate::environment::Environment;
use crate::listed::Listed;
use crate::workers::{WORKER_WORDS, native};

/// The runtimes of this machine, with everything found out that can be wrong with them.
pub(crate) struct Local {
    exec: Option<(Option<ImageRuntime>, ExecRuntime)>,
    native: Option<NativeRuntime>,
    prefix: String,
}

impl Local {
    pub(crate) fn prepare(config: &Config, environment: &Environment) -> Result<Local> {
        let exec = match config.runtimes.exec {
            true => exec(config, environment)?,
            false => None,
        };
        let native = config.runtimes.native.then(native);
        if exec.is_none() && native.is_none() && !config.runtimes.pod {
            tracing::warn!("no runtime is enabled: every function will be answered with NotFound");
        }
        Ok(Local {
            exec,
            native,
            prefix: config.default_image_prefix.clone(),
        })
    }

    /// The evaluators in the order in which they are asked.
    ///
    /// Exec comes before native although native is the first choice: it knows only what is listed, and what is listed goes
    /// where it is listed.
    pub(crate) fn evaluators(
        self,
        listed: Arc<dyn Listed>,
        workers: Option<Arc<WorkerPool>>,
    ) -> Evaluators {
        let exec = self.exec.map(|(table, exec)| Evaluator {
            name: "exec",
            runtime: Arc::new(Programs {
                prefix: self.prefix.clone(),
                listed: Arc::clone(&listed),
                exec,
                table,
            }),
            words: kiln_server::Words::Runner,
            is_usable: true,
            workers: None,
        });
        let native = self.native.map(|runtime| Evaluator {
            name: "native",
            runtime: Arc::new(Builtins {
                prefix: self.prefix,
                listed,
                runtime,
            }),
            words: WORKER_WORDS,
            is_usable: true,
            workers,
        });
        Evaluators::new(exec.into_iter().chain(native).collect())
    }
}

/// Programs, by what the cluster lists and then by a table of this machine.
struct Programs {
    prefix: String,
    listed: Arc<dyn Listed>,
    exec: ExecRuntime,
    table: Option<ImageRuntime>,
}

impl Runtime for Programs {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        let listed = match &function.target {
            Target::Image(image) => self.listed.program(&with_prefix(&self.prefix, image)),
            _ => None,
        };
        match listed {
            Some(program) => {
                let program = program.to_string_lossy().into_owned();
                self.exec.find(&FunctionSpec::new(Target::Program(program)))
            }
            None => match &self.table {
                Some(table) => table.find(function),
                None => Err(FindError::not_found(function)),
            },
        }
    }
}

/// Functions that are built in, by what the cluster lists and then by their own names, whole or short.
struct Builtins {
    prefix: String,
    listed: Arc<dyn Listed>,
    runtime: NativeRuntime,
}

impl Runtime for Builtins {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let image = with_prefix(&self.prefix, image);
        let builtin = self.listed.builtin(&image);
        self.runtime
            .find(&FunctionSpec::image(builtin.unwrap_or(image)))
    }
}

/// What runs programs, and the table that lists them; none where no program can be listed.
fn exec(
    config: &Config,
    environment: &Environment,
) -> Result<Option<(Option<ImageRuntime>, ExecRuntime)>> {
    let path = table_path(config);
    // FunctionConfig objects list programs too.
    if path.is_none() && !config.runtimes.pod {
        return Ok(None);
    }
    let search_path = environment.get("PATH").cloned().unwrap_or_default();
    let mut exec = ExecRuntime::new(search_path);
    if let Some(sandbox) = sandbox(config, environment)? {
        exec = exec.with_sandbox(Arc::new(sandbox));
    }
    let table = path
        .map(|path| load_table(path, config, exec.clone()))
        .transpose()?;
    Ok(Some((table, exec)))
}

/// The file with the table; none if the runtime works without one.
fn table_path(config: &Config) -> Option<PathBuf> {
    let path = config.config.as_ref()?;
    if config.config_is_optional && !is_there(path) {
        tracing::info!("no {}: the exec runtime has no table", path.display());
        return None;
    }
    Some(path.clone())
}

fn load_table(path: PathBuf, config: &Config, exec: ExecRuntime) -> Result<ImageRuntime> {
    let name = path.display().to_string();
    let listener = move |event: TableEvent<'_>| match event {
        TableEvent::Replaced(table) => {
            tracing::info!(
                images = table.len(),
                "{name} has changed and was read again"
            );
            log_table(table);
        }
        TableEvent::Kept(reason) => {
            tracing::error!(
                "{name} has changed and cannot be used, the old one stays in force: {reason}"
            );
        }
    };
    let runtime = ImageRuntime::load(
        path,
        config.functions.clone(),
        config.default_image_prefix.clone(),
        exec,
        listener,
    );
    let runtime = runtime.map_err(|error| {
        let hint = "another file is given with --config, and --disable-runtimes=exec turns the exec runtime off";
        match error {
            FileValueError::Make(reason) => anyhow!("the exec runtime's configuration: {reason}"),
            error => anyhow::Error::new(error)
                .context(format!("cannot read the exec runtime's configuration ({hint})")),
        }
    })?;
    log_table(&runtime.table());
    Ok(runtime)
}

fn is_there(path: &Path) -> bool {
    let found = std::fs::metadata(path);
    !matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn log_table(table: &ImageTable) {
    for duplicate in table.duplicates() {
        tracing::warn!(
            "image {} is listed more than once: it runs {}, not {}",
            duplicate.image,
            duplicate.used.display(),
            duplicate.ignored.display()
        );
    }
    for missing in table.missing() {
        tracing::warn!("executable {} is not there (yet)", missing.display());
    }
}

/// What programs run in; none if they run as they are.
fn sandbox(config: &Config, environment: &Environment) -> Result<Option<Sandbox>> {
    if config.sandbox == Some(SandboxMode::Off) {
        tracing::warn!("executables run without a sandbox (--exec-sandbox=off)");
        return Ok(None);
    }
    let default = SandboxLimits::default();
    let memory = config
        .memory
        .and_then(|memory| u64::try_from(memory.get()).ok());
    let policy = SandboxPolicy {
        allow_network: config.allow_network,
        limits: SandboxLimits {
            memory: memory.unwrap_or(default.memory),
            ..default
        },
        ..SandboxPolicy::default()
    };
    let surroundings = Surroundings {
        environment: environment.variables.clone(),
        temporary: environment.temporary.clone(),
    };
    match Sandbox::new(policy, surroundings) {
        Ok(sandbox) => {
            for measure in sandbox.measures() {
                match measure.in_force {
                    InForce::Yes => tracing::info!("sandbox: {measure}"),
                    InForce::Partly | InForce::No => tracing::warn!("sandbox: {measure}"),
                }
            }
            Ok(Some(sandbox))
        }
        // A system that cannot is one thing. One that could, and is set up wrongly, is not to be weaker in silence.
        Err(error @ SandboxError::Unsupported { .. }) if config.sandbox.is_none() => {
            tracing::warn!("executables run without a sandbox: {error}");
            Ok(None)
        }
        Err(error) => {
            Err(error).context("no sandbox for executables (--exec-sandbox=off does without)")
        }
    }
}
