//! Which engine runs a module.
//!
//! The first call of a module never waits for the compiler. Code that was compiled before is used at once; without it the
//! interpreter runs the module. A server then compiles the module in the background, at low priority and one module at a
//! time; a command compiles a small module the next time that it is used. [`WasmEngine`] can demand one engine.

#[cfg(feature = "wasm-jit")]
mod background;
#[cfg(feature = "wasm-jit")]
mod compile_limit;
#[cfg(feature = "wasm-jit")]
pub(crate) mod compiled_cache;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

#[cfg(feature = "wasm-jit")]
use crate::engine::compiler::{CompiledCode, engine};
use crate::engine::interpreter::InterpretedCode;
use crate::engine::translation_cost::{self, TranslationCost};
use crate::engine::{Code, EngineError};
use crate::host::Interrupt;
use crate::module::WasmModule;
use crate::options::{StepListener, WasmEngine, WasmStep, WasmUsage};
#[cfg(feature = "wasm-jit")]
use compiled_cache::CodeNotStored;

/// A command compiles modules below this size, which takes about 0.3 s.
#[cfg(feature = "wasm-jit")]
const COMPILED_BY_COMMANDS: usize = 500 * 1024;

/// A server compiles modules above this size at their first call: interpreting them is slow.
#[cfg(feature = "wasm-jit")]
const COMPILED_AT_ONCE: usize = 1 << 20;

/// A module in memory, and its code for each engine that has read it.
pub(crate) struct LoadedModule {
    pub(crate) module: WasmModule,
    /// What translating it costs, if it may be translated.
    cost: OnceLock<Result<TranslationCost, EngineError>>,
    interpreted: OnceLock<Result<Arc<dyn Code>, EngineError>>,
    compiled: OnceLock<Arc<dyn Code>>,
    /// How often it was called.
    calls: AtomicU32,
    /// Whether stored code was looked for.
    is_looked_up: AtomicBool,
    /// Whether it is compiled or waits for it.
    is_queued: AtomicBool,
}

impl LoadedModule {
    pub(crate) fn new(module: WasmModule) -> LoadedModule {
        LoadedModule {
            module,
            cost: OnceLock::new(),
            interpreted: OnceLock::new(),
            compiled: OnceLock::new(),
            calls: AtomicU32::new(0),
            is_looked_up: AtomicBool::new(false),
            is_queued: AtomicBool::new(false),
        }
    }

    /// Counts what translating the module costs, once. An error means that it must not be translated.
    fn cost(&self) -> Result<TranslationCost, EngineError> {
        let count = || translation_cost::check(self.module.bytes());
        self.cost.get_or_init(count).clone()
    }

    /// About how many bytes of memory the module takes. Its code takes some times as much as its bytes; what is counted is the code
    /// that is larger than that.
    pub(crate) fn memory(&self) -> u64 {
        let cost = self.cost.get().and_then(|cost| cost.as_ref().ok());
        let code = cost.map_or(0, |cost| cost.memory());
        self.module.bytes.len() as u64 + code
    }
}

/// The choice of the engine for all modules of an evaluator.
pub(crate) struct Tiers {
    engine: WasmEngine,
    #[cfg_attr(
        not(feature = "wasm-jit"),
        expect(dead_code, reason = "only the compiler differs between them")
    )]
    usage: WasmUsage,
    on_step: Option<StepListener>,
    #[cfg(feature = "wasm-jit")]
    cache: Option<compiled_cache::CompiledCache>,
}

impl Tiers {
    /// `directory` is for compiled code.
    pub(crate) fn new(
        engine: WasmEngine,
        usage: WasmUsage,
        directory: Option<PathBuf>,
        on_step: Option<StepListener>,
    ) -> Tiers {
        #[cfg(not(feature = "wasm-jit"))]
        drop(directory);
        Tiers {
            engine,
            usage,
            on_step,
            #[cfg(feature = "wasm-jit")]
            cache: directory.map(compiled_cache::CompiledCache::new),
        }
    }

    /// The code that runs the next call of a module, which may have to end while it waits for the code.
    pub(crate) fn code(
        self: &Arc<Self>,
        loaded: &Arc<LoadedModule>,
        interrupt: &Interrupt,
    ) -> Result<Arc<dyn Code>, EngineError> {
        let calls = loaded.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(compiled) = loaded.compiled.get() {
            return Ok(Arc::clone(compiled));
        }
        if self.engine != WasmEngine::Interpreter
            && let Some(compiled) = self.compiled(loaded, calls, interrupt)?
        {
            return Ok(compiled);
        }
        let interpreted = loaded.interpreted.get_or_init(|| {
            let _span = tracing::debug_span!("wasm.load").entered();
            let started = Instant::now();
            loaded.cost()?;
            let code = InterpretedCode::new(&loaded.module)?;
            self.report(WasmStep::Load, started);
            Ok(Arc::new(code))
        });
        interpreted.clone()
    }

    fn report(&self, step: WasmStep, started: Instant) {
        if let Some(listener) = &self.on_step {
            listener.receive(step, started.elapsed());
        }
    }

    #[cfg(not(feature = "wasm-jit"))]
    fn compiled(
        self: &Arc<Self>,
        loaded: &Arc<LoadedModule>,
        _: u32,
        _: &Interrupt,
    ) -> Result<Option<Arc<dyn Code>>, EngineError> {
        let _ = (&loaded.is_looked_up, &loaded.is_queued);
        match self.engine {
            WasmEngine::Compiler => Err(EngineError::no_compiler()),
            WasmEngine::Auto | WasmEngine::Interpreter => Ok(None),
        }
    }

    /// Compiled code, if it is there or if the module is to be compiled now.
    #[cfg(feature = "wasm-jit")]
    fn compiled(
        self: &Arc<Self>,
        loaded: &Arc<LoadedModule>,
        calls: u32,
        interrupt: &Interrupt,
    ) -> Result<Option<Arc<dyn Code>>, EngineError> {
        if !loaded.is_looked_up.swap(true, Ordering::Relaxed)
            && let Some(stored) = self.load(&loaded.module)
        {
            return Ok(Some(loaded.keep(stored)));
        }
        let size = loaded.module.bytes.len();
        match (self.engine, self.usage) {
            (WasmEngine::Interpreter, _) => Ok(None),
            (WasmEngine::Compiler, _) => self.compile_aside(loaded, interrupt).map(Some),
            (WasmEngine::Auto, WasmUsage::Server) => {
                let is_worth_it = calls > 0 || size > COMPILED_AT_ONCE;
                if is_worth_it && !loaded.is_queued.swap(true, Ordering::Relaxed) {
                    background::compile(Arc::clone(self), Arc::clone(loaded));
                }
                Ok(None)
            }
            (WasmEngine::Auto, WasmUsage::Command) => {
                let Some(cache) = &self.cache else {
                    return Ok(None);
                };
                // Calls of one command count once: a command that interprets goes on to do so.
                let was_used = calls == 0 && cache.note_use(&loaded.module);
                if !was_used || size >= COMPILED_BY_COMMANDS {
                    return Ok(None);
                }
                let compiled = self.compile_aside(loaded, interrupt);
                // The interpreter runs it, or reports what is wrong with it.
                Ok(compiled
                    .inspect_err(|error| tracing::debug!("cannot compile a module: {error}"))
                    .ok())
            }
        }
    }

    /// Stored code.
    #[cfg(feature = "wasm-jit")]
    fn load(&self, module: &WasmModule) -> Option<Arc<dyn Code>> {
        let _span = tracing::debug_span!("wasm.load").entered();
        let started = Instant::now();
        let stored = self.cache.as_ref()?.load(module)?;
        let code = CompiledCode::new(&stored, module.interface);
        self.report(WasmStep::Load, started);
        Some(Arc::new(code.ok()?))
    }

    /// Compiles a module for a call, which leaves the compiler alone when it has to end.
    #[cfg(feature = "wasm-jit")]
    fn compile_aside(
        self: &Arc<Self>,
        loaded: &Arc<LoadedModule>,
        interrupt: &Interrupt,
    ) -> Result<Arc<dyn Code>, EngineError> {
        let (tiers, module) = (Arc::clone(self), Arc::clone(loaded));
        let compiled = interrupt.run_aside("wasm-compiler", move || tiers.compile_now(&module));
        let compiled =
            compiled.map_err(|error| EngineError(format!("cannot start a thread: {error}")))?;
        compiled.map_err(|stop| EngineError(stop.to_string()))?
    }

    /// Compiles a module and stores the code. It is only a cache: without it the module is compiled again.
    #[cfg(feature = "wasm-jit")]
    fn compile_now(&self, loaded: &LoadedModule) -> Result<Arc<dyn Code>, EngineError> {
        let compiled = self.compile(loaded)?;
        if let Err(error) = compiled.stored {
            tracing::warn!(
                "cannot store compiled code: {}",
                kiln_go::error_chain(&error)
            );
        }
        Ok(compiled.code)
    }

    /// Compiles a module for other processes, which need the stored code.
    #[cfg(feature = "wasm-jit")]
    pub(crate) fn compile_and_store(&self, loaded: &LoadedModule) -> Result<(), CompileError> {
        Ok(self.compile(loaded)?.stored?)
    }

    #[cfg(not(feature = "wasm-jit"))]
    pub(crate) fn compile_and_store(&self, _: &LoadedModule) -> Result<(), CompileError> {
        Err(EngineError::no_compiler().into())
    }

    /// Compiles a module, unless another process has just done so.
    #[cfg(feature = "wasm-jit")]
    fn compile(&self, loaded: &LoadedModule) -> Result<Compiled, EngineError> {
        let module = &loaded.module;
        compile_limit::check(module.bytes(), loaded.cost()?)?;
        let cache = self.cache.as_ref();
        let locked = cache.map(|cache| cache.lock(module).map(|lock| (cache, lock)));
        let (stores, stored) = match locked.transpose() {
            Ok(stores) => (stores, Ok(())),
            Err(error) => (None, Err(error)),
        };
        if stores.is_some()
            && let Some(code) = self.load(module)
        {
            let code = loaded.keep(code);
            return Ok(Compiled { code, stored });
        }
        let _span = tracing::debug_span!("wasm.compile").entered();
        let started = Instant::now();
        let compiled = wasmtime::Module::new(engine()?, module.bytes())
            .map_err(|error| EngineError(format!("{error:#}")))?;
        self.report(WasmStep::Compile, started);
        let stored = match &stores {
            Some((cache, lock)) => cache.store(module, &compiled, lock),
            None => stored,
        };
        let code = CompiledCode::new(&compiled, module.interface)?;
        let code = loaded.keep(Arc::new(code));
        Ok(Compiled { code, stored })
    }
}

/// The code of a module, and whether it is stored, if it is to be.
#[cfg(feature = "wasm-jit")]
struct Compiled {
    code: Arc<dyn Code>,
    stored: Result<(), CodeNotStored>,
}

/// Why there is no stored code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[cfg(feature = "wasm-jit")]
    #[error("cannot store the code")]
    Store(#[from] CodeNotStored),
}

#[cfg(feature = "wasm-jit")]
impl LoadedModule {
    fn keep(&self, code: Arc<dyn Code>) -> Arc<dyn Code> {
        Arc::clone(self.compiled.get_or_init(|| code))
    }
}
