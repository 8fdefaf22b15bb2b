//! The evaluators that flags enable.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use kiln_evaluators::{
    ChainOptions, ExecOptions, NativeForm, NativeOptions, PolicyGuard, VerifierOptions,
    WasmChainOptions, WasmImageOrder, WasmPrograms,
};
use kiln_exec::{ExecEvaluator, ImageTable, TableEvent, WatchedTable};
use kiln_policy::{LoadedPolicy, PolicyEvent};
use kiln_runtime::FileValueError;
use kiln_sandbox::{
    HostEnvironment, InForce, Sandbox, SandboxError, SandboxLimits, SandboxMode, SandboxPolicy,
};
use kiln_wasm::{
    WasmEvaluator, WasmImageEvaluator, WasmImageOptions, WasmImages, WasmOptions, WasmUsage,
};

use crate::config::RunnerConfig;
use crate::environment::Environment;
use crate::images::{self, NamespaceProbe};
use crate::registry;

/// The evaluators that flags enable, except pods.
pub(crate) struct PreparedEvaluators {
    pub(crate) chain: ChainOptions,
    /// What the sandbox of executables enforces.
    pub(crate) sandbox: Vec<String>,
    pub(crate) namespace_probe: Option<NamespaceProbe>,
}

/// The evaluators that flags enable, except pods. Returns every configuration error.
pub(crate) fn prepare(
    config: &RunnerConfig,
    environment: &Environment,
) -> Result<PreparedEvaluators> {
    let mut measures = Vec::new();
    let exec = match config.evaluators.exec {
        true => exec(config, environment, &mut measures)?,
        false => None,
    };
    let native = config.evaluators.native.then(native);
    let images = images::prepare(config, environment)?;
    let (image, namespace_probe) = match images {
        Some(images) => (Some(images.evaluator), Some(images.probe)),
        None => (None, None),
    };
    let wasm = match config.evaluators.wasm {
        true => Some(wasm(config, environment)?),
        false => None,
    };
    let is_enabled = exec.is_some() || native.is_some() || wasm.is_some() || image.is_some();
    if !is_enabled && !config.evaluators.pod {
        tracing::warn!("no evaluator is enabled: every call will fail with NotFound");
    }
    Ok(PreparedEvaluators {
        chain: ChainOptions {
            exec,
            native,
            wasm,
            image,
            policy: policy(config, environment)?,
            image_prefix: Some(config.default_image_prefix.clone()),
            own_program: Some(environment.program.clone()),
            ..ChainOptions::default()
        },
        sandbox: measures,
        namespace_probe,
    })
}

/// The policy, which is read again when its files have changed, and the verifier of the signatures that it requires.
fn policy(config: &RunnerConfig, environment: &Environment) -> Result<Option<Arc<PolicyGuard>>> {
    let loaded = LoadedPolicy::load(&config.policy, |event| match event {
        PolicyEvent::Warned(text) => tracing::warn!("{text}"),
        PolicyEvent::Replaced => tracing::info!("the policy has changed and was reloaded"),
        PolicyEvent::Kept(reason) => tracing::error!(
            "the policy has changed and is invalid, the old one stays in force: {reason}"
        ),
    });
    let Some(loaded) = loaded.context("cannot use the policy of functions")? else {
        return Ok(None);
    };
    let options = VerifierOptions {
        store: config.image.store.clone(),
        registry: registry::options(config, environment)?,
        pull_policy: config.image.pull_policy,
    };
    Ok(Some(Arc::new(PolicyGuard::new(loaded, options))))
}

/// Native functions get and return the same text as the programs that they replace.
pub(crate) fn native() -> NativeOptions {
    NativeOptions {
        form: NativeForm::Wire,
        ..NativeOptions::default()
    }
}

/// Images that are WebAssembly modules. They run in this process, on a thread that may block.
fn wasm(config: &RunnerConfig, environment: &Environment) -> Result<WasmChainOptions> {
    let wasm = &config.wasm;
    let modules = WasmEvaluator::new(WasmOptions {
        engine: wasm.engine,
        usage: WasmUsage::Server,
        clock: wasm.clock,
        random: wasm.random,
        cache: wasm.cache.clone(),
        memory: wasm.memory,
        ..WasmOptions::default()
    });
    let options = WasmImageOptions {
        registry: registry::options(config, environment)?,
        pull: config.image.pull_policy,
        image_store: config.image.store.clone(),
        ..WasmImageOptions::default()
    };
    let images = WasmImages::new(options, wasm.cache.as_deref());
    let images = WasmImageEvaluator::new(&modules, Arc::new(images));
    Ok(WasmChainOptions {
        modules,
        programs: WasmPrograms::Nothing,
        images: Some(images),
        image_order: WasmImageOrder::AfterNative,
    })
}

/// The exec evaluator and its table; `None` if no program can be listed.
fn exec(
    config: &RunnerConfig,
    environment: &Environment,
    measures: &mut Vec<String>,
) -> Result<Option<ExecOptions>> {
    let path = table_path(config);
    // FunctionConfig objects list programs too.
    if path.is_none() && !config.evaluators.pod {
        return Ok(None);
    }
    let search_path = environment.get("PATH").cloned().unwrap_or_default();
    let mut programs = ExecEvaluator::new(search_path);
    if let Some(sandbox) = sandbox(config, environment)? {
        measures.extend(sandbox.measures().iter().map(ToString::to_string));
        programs = programs.with_sandbox(Arc::new(sandbox));
    }
    let table = path.map(|path| load_table(path, config)).transpose()?;
    Ok(Some(ExecOptions { programs, table }))
}

/// The file of the table; `None` means no table.
fn table_path(config: &RunnerConfig) -> Option<PathBuf> {
    let path = config.config.as_ref()?;
    if config.config_is_optional && !is_there(path) {
        tracing::info!(
            "{} does not exist: the exec evaluator has no table",
            path.display()
        );
        return None;
    }
    Some(path.clone())
}

fn load_table(path: PathBuf, config: &RunnerConfig) -> Result<WatchedTable> {
    let name = path.display().to_string();
    let listener = move |event: TableEvent<'_>| match event {
        TableEvent::Replaced(table) => {
            tracing::info!(images = table.len(), "{name} has changed and was reloaded");
            log_table(table);
        }
        TableEvent::Kept(reason) => {
            tracing::error!(
                "{name} has changed and is invalid, the old one stays in force: {reason}"
            );
        }
    };
    let table = WatchedTable::load(
        path,
        config.functions.clone(),
        config.default_image_prefix.clone(),
        listener,
    );
    let table = table.map_err(|error| {
        let hint = "use --config for another file, or --disable-runtimes=exec to disable the exec evaluator";
        match error {
            FileValueError::Make(reason) => anyhow!("invalid configuration of the exec evaluator: {reason}"),
            error => anyhow::Error::new(error)
                .context(format!("cannot read the configuration of the exec evaluator ({hint})")),
        }
    })?;
    log_table(&table.table());
    Ok(table)
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
        tracing::warn!("executable {} does not exist", missing.display());
    }
}

/// The sandbox of programs; `None` if they run without.
fn sandbox(config: &RunnerConfig, environment: &Environment) -> Result<Option<Sandbox>> {
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
    let surroundings = HostEnvironment {
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
        // A system without support is expected. A misconfigured one must not be silently weaker.
        Err(error @ SandboxError::Unsupported { .. }) if config.sandbox.is_none() => {
            tracing::warn!("executables run without a sandbox: {error}");
            Ok(None)
        }
        Err(error) => Err(error).context(
            "cannot set up the sandbox for executables (--exec-sandbox=off runs them without)",
        ),
    }
}
