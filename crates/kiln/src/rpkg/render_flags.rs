//! The flags of verbs that render, and the evaluators for the packages of a repository.
//!
//! Built-in functions come first, then a function runner: that of the flag, else the one that the repository was registered
//! with. A runner runs images that are WebAssembly modules; without one, or on request, they run here. Containers are never started and programs only with a flag, because packages are not trusted.

use std::error::Error;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use kiln_evaluators::{
    ChainOptions, ExecOptions, NativeOptions, PolicyGuard, WasmChainOptions, WasmPrograms,
};
use kiln_exec::ExecEvaluator;
use kiln_functions::registry::Registry;
use kiln_krm::image::DEFAULT_PREFIX;
use kiln_oci::PullPolicy;
use kiln_package::available_threads;
use kiln_remote::{Address, RemoteEvaluator, RemoteOptions};
use kiln_render::{Builtins, ExternalFunctions, Jobs, Log, Tags};
use kiln_runtime::{
    CancelToken, DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Evaluator, FindError, Found, FunctionSpec,
    Input, Limits, Network, Outcome, RunContext, RunError, Runner, Target,
};
use kiln_task::{RenderSettings, RepositoryConfig, RepositoryEvaluators, RunnerOptions};

use crate::environment::is_attribution_disabled;
use crate::functions::flags::FunctionFlags;
use crate::functions::policy::PolicyFlags;
use crate::functions::registry_tags::RegistryTags;
use crate::functions::wasm::{WasmContext, WasmFlags};
use crate::interrupt::on_interrupt;
use crate::report::function_log::FunctionLog;
use crate::ui::Ui;

/// Flags of every verb that renders.
#[derive(Args, Debug)]
pub(crate) struct RenderFlags {
    #[command(flatten)]
    functions: FunctionFlags,
    #[command(flatten)]
    wasm: WasmFlags,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
    /// Run programs that packages name; without this flag such packages are refused
    #[arg(long)]
    allow_exec: bool,
}

/// What the checked flags set up.
pub(crate) struct RenderSetup {
    prefix: String,
    native: Option<NativeOptions>,
    wasm: Option<WasmChainOptions>,
    /// Whether modules run here even if there is a function runner, which runs them too.
    prefers_modules: bool,
    programs: Option<ExecEvaluator>,
    remote: Option<Arc<dyn Evaluator>>,
    policy: Option<Arc<PolicyGuard>>,
    overrides: RunnerOptions,
    registry_tags: RegistryTags,
    cancel: CancelToken,
}

impl RenderFlags {
    /// The terminal, without a progress line if the user wants only errors.
    pub(crate) fn ui(&self, ui: &Ui) -> Ui {
        match self.quiet {
            true => ui.without_progress(),
            false => ui.clone(),
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub(crate) fn log<'a>(&self, ui: &'a Ui) -> FunctionLog<'a> {
        FunctionLog::new(ui).quiet(self.quiet)
    }

    pub(crate) fn check(&self, ui: &Ui) -> Result<RenderSetup> {
        let flags = &self.functions;
        let programs = match self.allow_exec {
            true => Some(flags.exec(Network::None)?.programs),
            false => None,
        };
        let cancel = on_interrupt();
        let wasm = self.wasm.check(&WasmContext {
            compat: ui.compat(),
            // The files of a package are in git: a path would name a file of this machine.
            programs: WasmPrograms::Nothing,
            pull_policy: PullPolicy::IfNotPresent,
            has_runner: flags.has_runner(),
        })?;
        Ok(RenderSetup {
            prefix: flags.prefix()?,
            native: flags.native(),
            wasm: wasm.chain,
            prefers_modules: self.wasm.prefers_modules(),
            programs,
            remote: flags.remote()?,
            policy: flags.policy(ui, PullPolicy::IfNotPresent)?,
            overrides: RunnerOptions {
                timeout: flags.timeout,
                max_output: flags.max_output,
                ..RunnerOptions::default()
            },
            registry_tags: RegistryTags::new(cancel.clone()),
            cancel,
        })
    }
}

impl RenderSetup {
    /// For verbs without these flags, which render nothing but could.
    pub(crate) fn without_flags(ui: &Ui) -> Result<RenderSetup> {
        let cancel = CancelToken::new();
        Ok(RenderSetup {
            prefix: DEFAULT_PREFIX.to_owned(),
            native: Some(NativeOptions {
                is_watched: true,
                ..NativeOptions::default()
            }),
            wasm: None,
            prefers_modules: false,
            programs: None,
            remote: None,
            policy: PolicyFlags::default().guard(ui, PullPolicy::IfNotPresent)?,
            overrides: RunnerOptions::default(),
            registry_tags: RegistryTags::new(cancel.clone()),
            cancel,
        })
    }

    pub(crate) fn settings<'a>(&'a self, log: &'a dyn Log) -> RenderSettings<'a> {
        let count: NonZeroUsize = available_threads();
        RenderSettings {
            runners: self,
            image_prefix: &self.prefix,
            tags: self,
            allow_exec: self.programs.is_some(),
            overrides: self.overrides.clone(),
            timeout: Some(DEFAULT_TIMEOUT),
            limits: Limits {
                max_output: DEFAULT_MAX_OUTPUT,
                memory: None,
            },
            jobs: Jobs {
                count,
                external: ExternalFunctions::InOrder,
            },
            attribution: !is_attribution_disabled(),
            cancel: self.cancel.clone(),
            log,
        }
    }
}

impl RepositoryEvaluators for RenderSetup {
    fn evaluator(
        &self,
        repository: &RepositoryConfig,
    ) -> Result<Arc<dyn Evaluator>, Box<dyn Error + Send + Sync>> {
        let remote: Option<Arc<dyn Evaluator>> = match (&self.remote, &repository.runner.endpoint) {
            (Some(remote), _) => Some(Arc::clone(remote)),
            (None, Some(endpoint)) => {
                let options = RemoteOptions::new(Address::from_str(endpoint)?);
                Some(Arc::new(RemoteEvaluator::new(options)?))
            }
            (None, None) => None,
        };
        let exec = self.programs.clone().map(|programs| ExecOptions {
            programs,
            table: None,
        });
        let wasm = self.wasm.clone();
        let wasm = wasm.filter(|_| remote.is_none() || self.prefers_modules);
        let remote = remote.or_else(|| match wasm.is_some() {
            true => Some(Arc::new(NoRunner) as Arc<dyn Evaluator>),
            false => None,
        });
        let evaluators = ChainOptions {
            own: vec![("builtin", Arc::new(Builtins))],
            exec,
            native: self.native.clone(),
            wasm,
            remote,
            policy: self.policy.clone(),
            ..ChainOptions::default()
        };
        Ok(Arc::new(evaluators.chain()))
    }
}

/// Stands for a missing function runner after the images that may be modules: Porch's message about an image that nothing runs
/// names the function, and not what a registry answered.
struct NoRunner;

struct NotFoundRunner {
    function: FunctionSpec,
}

impl Evaluator for NoRunner {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match &function.target {
            Target::Image(_) => Ok(Found::blocking(NotFoundRunner {
                function: function.clone(),
            })),
            Target::Program(_) | Target::Exec(_) => Err(FindError::not_found(function)),
        }
    }
}

impl Runner for NotFoundRunner {
    fn run(&self, _: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        let not_found = FindError::not_found(&self.function);
        Err(RunError::NotFound(Box::new(not_found)))
    }
}

impl Tags for RenderSetup {
    /// The versions of a built-in function.
    fn of(&self, image: &str) -> Vec<String> {
        match self.native.is_some() {
            true => Registry::builtin().tags(image),
            false => Vec::new(),
        }
    }

    /// The tags in the registry.
    fn elsewhere(&self, image: &str) -> Vec<String> {
        self.registry_tags.of(image)
    }
}
