//! The compiler: wasmtime.
//!
//! Time is bounded by epochs: a ticker advances the epoch while modules run, and each module looks at its deadline when it
//! has advanced.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;

use wasmtime::{
    AsContextMut, Caller, Config, Engine, Error, Extern, Func, FuncType, InstancePre, Linker,
    Memory, Module, ResourceLimiter, Store, UpdateDeadline, Val, ValType,
};

use super::ticker::{self, Ticking};
use super::{Code, EngineError, Instance, MAX_STACK};
use crate::host::{
    CallState, Guest, GuestMemory, HostArguments, HostBody, HostFunction, MAX_TABLE, MAX_TABLES,
    MemoryLimit, NumberType, Stop,
};
use crate::module::WasmInterface;

/// A compiled module.
pub(crate) struct CompiledCode {
    instances: InstancePre<CompilerState>,
    interface: WasmInterface,
}

struct CompilerState {
    call: CallState,
    memory: Option<Memory>,
}

/// Identifies the settings and the version of the compiler: code of other settings cannot be loaded.
pub(crate) fn settings() -> Result<u64, EngineError> {
    let mut hasher = DefaultHasher::new();
    engine()?.precompile_compatibility_hash().hash(&mut hasher);
    Ok(hasher.finish())
}

/// The engine. Making it takes time, so that is done when it is first needed.
pub(crate) fn engine() -> Result<&'static Engine, EngineError> {
    static ENGINE: OnceLock<Result<Engine, EngineError>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .max_wasm_stack(MAX_STACK)
            .wasm_multi_memory(false)
            .wasm_tail_call(false)
            .wasm_memory64(false)
            .wasm_relaxed_simd(false)
            .wasm_backtrace_max_frames(None)
            // As the interpreter does.
            .cranelift_nan_canonicalization(true);
        Engine::new(&config).map_err(invalid)
    });
    engine.as_ref().map_err(EngineError::clone)
}

fn invalid(error: Error) -> EngineError {
    EngineError(format!("{error:#}"))
}

impl CompiledCode {
    pub(crate) fn new(
        module: &Module,
        interface: WasmInterface,
    ) -> Result<CompiledCode, EngineError> {
        let mut linker = Linker::new(module.engine());
        for import_module in interface.import_modules() {
            for function in interface.functions() {
                define(&mut linker, import_module, function).map_err(invalid)?;
            }
        }
        Ok(CompiledCode {
            instances: linker.instantiate_pre(module).map_err(invalid)?,
            interface,
        })
    }
}

fn define(
    linker: &mut Linker<CompilerState>,
    import_module: &str,
    function: &'static HostFunction,
) -> wasmtime::Result<()> {
    let value_type = |number: &NumberType| match number {
        NumberType::I32 => ValType::I32,
        NumberType::I64 => ValType::I64,
    };
    let parameters = function.signature.parameters.iter().map(value_type);
    let results = function.signature.result.iter().map(value_type);
    let function_type = FuncType::new(linker.engine(), parameters, results);
    let body: HostBody = function.body;
    linker.func_new(
        import_module,
        function.name,
        function_type,
        move |caller, arguments, results| {
            let arguments: Vec<u64> = arguments.iter().map(number).collect();
            let returned = body.run(&mut CallingModule(caller), HostArguments(&arguments))?;
            if let Some(result) = results.first_mut() {
                *result = Val::I32(returned as i32);
            }
            Ok(())
        },
    )?;
    Ok(())
}

fn number(value: &Val) -> u64 {
    match value {
        Val::I32(number) => u64::from(*number as u32),
        Val::I64(number) => *number as u64,
        _ => 0,
    }
}

impl Code for CompiledCode {
    fn instantiate(&self, state: CallState) -> Result<Box<dyn Instance>, Stop> {
        let engine = engine().map_err(|error| Stop::Trap(error.to_string()))?;
        let interrupt = state.interrupt.clone();
        let state = CompilerState {
            call: state,
            memory: None,
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.call.memory);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            interrupt.check()?;
            Ok(UpdateDeadline::Continue(1))
        });
        let ticking = ticker::start(engine)
            .map_err(|error| Stop::Trap(format!("cannot start a thread: {error}")))?;
        let instance = self.instances.instantiate(&mut store);
        let instance = instance.map_err(|error| match store.data().call.memory.is_exceeded {
            true => Stop::OverMemory,
            false => stopped(error),
        })?;
        let memory = instance.get_memory(&mut store, self.interface.memory());
        store.data_mut().memory = memory;
        Ok(Box::new(CompiledInstance {
            store,
            instance,
            _ticking: ticking,
        }))
    }
}

struct CompiledInstance {
    store: Store<CompilerState>,
    instance: wasmtime::Instance,
    _ticking: Ticking,
}

impl Guest for CompiledInstance {
    fn parts(&mut self) -> (GuestMemory<'_>, &mut CallState) {
        parts(&mut self.store, Store::data_mut)
    }

    fn enter(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let function = self.instance.get_func(&mut self.store, export);
        call(&mut self.store, function, export, arguments)
    }
}

impl Instance for CompiledInstance {
    fn finish(self: Box<Self>) -> CallState {
        self.store.into_data().call
    }
}

/// A module that called the host.
struct CallingModule<'a>(Caller<'a, CompilerState>);

impl Guest for CallingModule<'_> {
    fn parts(&mut self) -> (GuestMemory<'_>, &mut CallState) {
        parts(&mut self.0, Caller::data_mut)
    }

    fn enter(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let function = self.0.get_export(export).and_then(Extern::into_func);
        call(&mut self.0, function, export, arguments)
    }
}

fn parts<'a, C: AsContextMut<Data = CompilerState>>(
    ctx: &'a mut C,
    state: fn(&'a mut C) -> &'a mut CompilerState,
) -> (GuestMemory<'a>, &'a mut CallState) {
    match ctx.as_context().data().memory {
        Some(memory) => {
            let (bytes, state) = memory.data_and_store_mut(ctx.as_context_mut());
            (GuestMemory(bytes), &mut state.call)
        }
        None => (GuestMemory(&mut []), &mut state(ctx).call),
    }
}

fn call(
    ctx: &mut impl AsContextMut<Data = CompilerState>,
    function: Option<Func>,
    export: &str,
    arguments: &[i32],
) -> Result<Option<i32>, Stop> {
    let Some(function) = function else {
        return Err(Stop::Trap(format!("the module has no function {export:?}")));
    };
    let arguments: Vec<Val> = arguments.iter().map(|number| Val::I32(*number)).collect();
    let count = function.ty(ctx.as_context_mut()).results().len();
    let mut results = vec![Val::I32(0); count];
    let called = function.call(ctx.as_context_mut(), &arguments, &mut results);
    called.map_err(stopped)?;
    Ok(match results.first() {
        Some(Val::I32(number)) => Some(*number),
        _ => None,
    })
}

fn stopped(error: Error) -> Stop {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.clone();
    }
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(trap) => {
            // The prefix is added for both engines.
            let text = trap.to_string();
            Stop::Trap(text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned())
        }
        None => Stop::Trap(format!("{error:#}")),
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.allows_memory(current, desired))
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE)
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    fn memories(&self) -> usize {
        1
    }
}
