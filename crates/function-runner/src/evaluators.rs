//! The evaluators that flags turn on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use kiln_evaluators::{ChainOptions, ExecOptions, NativeForm, NativeOptions};
use kiln_exec::{ExecEvaluator, ImageTable, TableEvaluator, TableEvent};
use kiln_runtime::FileValueError;
use kiln_sandbox::{
    InForce, Sandbox, SandboxError, SandboxLimits, SandboxMode, SandboxPolicy, Surroundings,
};

use crate::config::Config;
use crate::environment::Environment;

/// The evaluators that flags turn on, without pods. Everything that can be wrong with them is found here.
pub(crate) fn prepare(config: &Config, environment: &Environment) -> Result<ChainOptions> {
    let exec = match config.runtimes.exec {
        true => exec(config, environment)?,
        false => None,
    };
    let native = config.runtimes.native.then(native);
    if exec.is_none() && native.is_none() && !config.runtimes.pod {
        tracing::warn!("no runtime is enabled: every function will be answered with NotFound");
    }
    Ok(ChainOptions {
        exec,
        native,
        image_prefix: Some(config.default_image_prefix.clone()),
        ..ChainOptions::default()
    })
}

/// Native functions see and give what the programs do that they stand for.
pub(crate) fn native() -> NativeOptions {
    NativeOptions {
        form: NativeForm::Wire,
        ..NativeOptions::default()
    }
}

/// What runs programs, and the table that lists them; none where no program can be listed.
fn exec(config: &Config, environment: &Environment) -> Result<Option<ExecOptions>> {
    let path = table_path(config);
    // FunctionConfig objects list programs too.
    if path.is_none() && !config.runtimes.pod {
        return Ok(None);
    }
    let search_path = environment.get("PATH").cloned().unwrap_or_default();
    let mut programs = ExecEvaluator::new(search_path);
    if let Some(sandbox) = sandbox(config, environment)? {
        programs = programs.with_sandbox(Arc::new(sandbox));
    }
    let table = path
        .map(|path| load_table(path, config, programs.clone()))
        .transpose()?;
    Ok(Some(ExecOptions { programs, table }))
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

fn load_table(path: PathBuf, config: &Config, exec: ExecEvaluator) -> Result<TableEvaluator> {
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
    let runtime = TableEvaluator::load(
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
