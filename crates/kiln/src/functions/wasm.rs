//! Functions in WebAssembly: their flags, and the evaluators that the flags configure.
//!
//! In kiln's own mode a module is recognised by what it is, and needs no permission: it can reach nothing but its input. In
//! kpt's mode only `--allow-alpha-wasm` runs modules; then all images are modules, and programs as the command decides.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use kiln_evaluators::{WasmChainOptions, WasmImageOrder, WasmPrograms};
use kiln_oci::PullPolicy;
use kiln_wasm::{
    HAS_COMPILER, StepListener, WasmClock, WasmEngine, WasmEvaluator, WasmImageEvaluator,
    WasmImageOptions, WasmImages, WasmOptions, WasmRandom, WasmStep,
};

use super::registry_tags::registry_options;
use crate::compat::Compat;
use crate::environment::{HOME, KILN_WASM_AOT, KPT_FN_WASM_RUNTIME, XDG_CACHE_HOME};
use crate::error::CommandError;
use crate::flag_values::go_bool;
use crate::image_store::store_directory;
use crate::interrupt::on_interrupt;

#[derive(Args, Debug, Default)]
pub(crate) struct WasmFlags {
    /// Run images as WebAssembly if they are also there for this machine; with --compat=kpt, run all images as WebAssembly
    #[arg(long, visible_alias = "prefer-wasm", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    allow_alpha_wasm: Option<bool>,
    /// Engine for WebAssembly: auto, interpreter or compiler
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = WasmEngine::from_str)]
    wasm_engine: WasmEngine,
    /// Clock of functions in WebAssembly: fixed or real
    #[arg(long, value_name = "CLOCK", default_value = "fixed", value_parser = WasmClock::from_str)]
    wasm_clock: WasmClock,
    /// Random bytes of functions in WebAssembly: fixed or real
    #[arg(long, value_name = "SOURCE", default_value = "fixed", value_parser = WasmRandom::from_str)]
    wasm_random: WasmRandom,
}

/// What the flags are combined with.
pub(crate) struct WasmContext {
    pub(crate) compat: Compat,
    /// Which programs are modules.
    pub(crate) programs: WasmPrograms,
    pub(crate) pull_policy: PullPolicy,
    /// Whether a function runner runs the images, modules too.
    pub(crate) has_runner: bool,
}

/// The evaluators of modules.
pub(crate) struct WasmSetup {
    pub(crate) chain: Option<WasmChainOptions>,
    /// For hints about images.
    pub(crate) images: Option<WasmImageEvaluator>,
    pub(crate) steps: WasmSteps,
}

/// How long the steps of all calls took.
#[derive(Clone, Default)]
pub(crate) struct WasmSteps {
    steps: Arc<Mutex<Vec<(WasmStep, Duration)>>>,
}

impl WasmSteps {
    /// The steps since the last call of this method.
    pub(crate) fn take(&self) -> Vec<(WasmStep, Duration)> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *steps)
    }

    fn listener(&self) -> StepListener {
        let steps = Arc::clone(&self.steps);
        StepListener::new(move |step, elapsed| {
            let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
            steps.push((step, elapsed));
        })
    }
}

impl WasmFlags {
    /// Whether modules run here even if something else could run the image.
    pub(crate) fn prefers_modules(&self) -> bool {
        self.allow_alpha_wasm == Some(true)
    }

    pub(crate) fn check(&self, context: &WasmContext) -> Result<WasmSetup> {
        let is_allowed = self.prefers_modules();
        let is_kpt = context.compat != Compat::Kiln;
        let steps = WasmSteps::default();
        if is_kpt && !is_allowed {
            return Ok(WasmSetup {
                chain: None,
                images: None,
                steps,
            });
        }
        if is_kpt {
            check_kpt_runtime()?;
        }
        if self.wasm_engine == WasmEngine::Compiler && !HAS_COMPILER {
            let error = anyhow::anyhow!("this kiln has no compiler for functions in WebAssembly");
            let hint = "use --wasm-engine=interpreter, or build kiln with --features wasm-jit";
            return Err(CommandError::with_hint(error, hint).into());
        }
        let options = WasmOptions {
            engine: engine(self.wasm_engine),
            clock: self.wasm_clock,
            random: self.wasm_random,
            cache: cache_directory(),
            on_step: Some(steps.listener()),
            ..WasmOptions::default()
        };
        let cache = options.cache.clone();
        let modules = WasmEvaluator::new(options);
        let mut registry = registry_options()?;
        // Otherwise the next evaluator may have the image.
        registry.retry.retries_refused = is_kpt;
        let image_options = WasmImageOptions {
            pull: context.pull_policy,
            prefers_modules: is_allowed,
            is_every_image_a_module: is_kpt,
            registry,
            image_store: Some(store_directory()),
            environment: std::env::vars_os().collect(),
            cancel: on_interrupt(),
            ..WasmImageOptions::default()
        };
        // A runner runs modules itself.
        let images = (is_kpt || is_allowed || !context.has_runner).then(|| {
            let images = WasmImages::new(image_options, cache.as_deref());
            WasmImageEvaluator::new(&modules, Arc::new(images))
        });
        let chain = WasmChainOptions {
            modules,
            programs: context.programs,
            images: images.clone(),
            image_order: match is_kpt {
                true => WasmImageOrder::First,
                false => WasmImageOrder::AfterNative,
            },
        };
        Ok(WasmSetup {
            chain: Some(chain),
            images,
            steps,
        })
    }
}

/// `KILN_WASM_AOT=1` compiles every module before it first runs.
fn engine(flag: WasmEngine) -> WasmEngine {
    let is_set = std::env::var(KILN_WASM_AOT).is_ok_and(|value| value == "1");
    match (flag, is_set && HAS_COMPILER) {
        (WasmEngine::Auto, true) => WasmEngine::Compiler,
        (flag, _) => flag,
    }
}

/// kpt's variable chooses between two engines. Modules behave the same on ours.
fn check_kpt_runtime() -> Result<()> {
    match std::env::var(KPT_FN_WASM_RUNTIME)
        .unwrap_or_default()
        .as_str()
    {
        "" | "wasmtime" | "nodejs" => Ok(()),
        other => bail!("unsupported wasm runtime: {other}"),
    }
}

/// The directory for modules and compiled code; `None` without a home directory.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let directory = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let cache = directory(XDG_CACHE_HOME).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(directory(HOME)?).join(".cache")));
    Some(cache?.join("kiln/wasm"))
}
