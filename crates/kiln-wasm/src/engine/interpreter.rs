//! The interpreter: wasmi. It makes no executable memory.
//!
//! Fuel bounds how long it runs before it looks at the clock; a call that runs out of fuel is refuelled and goes on.

use std::sync::OnceLock;

use wasmi::errors::HostError;
use wasmi::{
    AsContextMut, Caller, Config, CustomFuelCosts, Engine, Error, Extern, Func, FuncType, Linker,
    Memory, Module, ResourceLimiter, ResumableCall, Store, TrapCode, Val, ValType,
};
use wasmi_core::LimiterError;

use super::{Code, EngineError, Instance, MAX_CALLS, MAX_STACK};
use crate::host::{
    CallState, Guest, GuestMemory, HostArguments, HostBody, HostFunction, MAX_TABLE, MAX_TABLES,
    MemoryLimit, NumberType, Stop,
};
use crate::module::{WasmInterface, WasmModule};

/// How much is executed between two looks at the clock: usually less than a millisecond. A call of a function with 50,000 variables
/// costs no more fuel than another one, but a thousand times as long, so there are not many of them in a slice.
const FUEL_SLICE: u64 = 100_000;

/// A module for the interpreter.
pub(crate) struct InterpretedCode {
    module: Module,
    linker: Linker<InterpreterState>,
    interface: WasmInterface,
}

struct InterpreterState {
    call: CallState,
    memory: Option<Memory>,
}

impl InterpretedCode {
    pub(crate) fn new(module: &WasmModule) -> Result<InterpretedCode, EngineError> {
        let invalid = |error: Error| EngineError(error.to_string());
        let engine = engine();
        let code = Module::new(engine, module.bytes()).map_err(invalid)?;
        let mut linker = Linker::new(engine);
        for import_module in module.interface.import_modules() {
            for function in module.interface.functions() {
                define(&mut linker, import_module, function)
                    .map_err(|error| EngineError(error.to_string()))?;
            }
        }
        Ok(InterpretedCode {
            module: code,
            linker,
            interface: module.interface,
        })
    }
}

/// The engine, with the same features as the compiler's.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut config = Config::default();
        config
            .consume_fuel(true)
            // A function that runs out of fuel while it is translated could not go on. Translation is bounded by
            // `translation_cost`, so that it needs none.
            .fuel_cost(CustomFuelCosts {
                bytes_copied_per_fuel: 64,
                fuel_per_bytes_translated: 0,
                fuel_per_bytes_validated: 0,
            })
            .set_max_stack_height(MAX_STACK)
            .set_max_recursion_depth(MAX_CALLS)
            .set_max_cached_stacks(2)
            .wasm_multi_memory(false)
            .wasm_tail_call(false)
            .wasm_relaxed_simd(false)
            .ignore_custom_sections(true);
        Engine::new(&config)
    })
}

fn define(
    linker: &mut Linker<InterpreterState>,
    import_module: &str,
    function: &'static HostFunction,
) -> Result<(), wasmi::errors::LinkerError> {
    let value_type = |number: &NumberType| match number {
        NumberType::I32 => ValType::I32,
        NumberType::I64 => ValType::I64,
    };
    let parameters = function.signature.parameters.iter().map(value_type);
    let function_type = FuncType::new(parameters, function.signature.result.iter().map(value_type));
    let body: HostBody = function.body;
    linker.func_new(
        import_module,
        function.name,
        function_type,
        move |caller, arguments, results| {
            let arguments: Vec<u64> = arguments.iter().map(number).collect();
            let returned = body.run(&mut CallingModule(caller), HostArguments(&arguments));
            let returned = returned.map_err(Error::host)?;
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

impl HostError for Stop {}

impl Code for InterpretedCode {
    fn instantiate(&self, state: CallState) -> Result<Box<dyn Instance>, Stop> {
        let state = InterpreterState {
            call: state,
            memory: None,
        };
        let mut store = Store::new(self.linker.engine(), state);
        store.limiter(|state| &mut state.call.memory);
        store.set_fuel(FUEL_SLICE).map_err(stopped)?;
        let instance = self.linker.instantiate_and_start(&mut store, &self.module);
        let instance = instance.map_err(|error| match store.data().call.memory.is_exceeded {
            true => Stop::OverMemory,
            false => stopped(error),
        })?;
        let memory = instance.get_memory(&store, self.interface.memory());
        store.data_mut().memory = memory;
        Ok(Box::new(InterpretedInstance { store, instance }))
    }
}

struct InterpretedInstance {
    store: Store<InterpreterState>,
    instance: wasmi::Instance,
}

impl Guest for InterpretedInstance {
    fn parts(&mut self) -> (GuestMemory<'_>, &mut CallState) {
        parts(&mut self.store, Store::data_mut)
    }

    fn enter(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let function = self.instance.get_func(&self.store, export);
        call(&mut self.store, function, export, arguments)
    }
}

impl Instance for InterpretedInstance {
    fn finish(self: Box<Self>) -> CallState {
        self.store.into_data().call
    }
}

/// A module that called the host.
struct CallingModule<'a>(Caller<'a, InterpreterState>);

impl Guest for CallingModule<'_> {
    fn parts(&mut self) -> (GuestMemory<'_>, &mut CallState) {
        parts(&mut self.0, Caller::data_mut)
    }

    fn enter(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop> {
        let function = self.0.get_export(export).and_then(Extern::into_func);
        call(&mut self.0, function, export, arguments)
    }
}

fn parts<'a, C: AsContextMut<Data = InterpreterState>>(
    ctx: &'a mut C,
    state: fn(&'a mut C) -> &'a mut InterpreterState,
) -> (GuestMemory<'a>, &'a mut CallState) {
    match ctx.as_context().data().memory {
        Some(memory) => {
            let (bytes, state) = memory.data_and_store_mut(ctx.as_context_mut());
            (GuestMemory(bytes), &mut state.call)
        }
        None => (GuestMemory(&mut []), &mut state(ctx).call),
    }
}

/// Calls a function, with fuel as long as the call may go on.
fn call(
    ctx: &mut impl AsContextMut<Data = InterpreterState>,
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
    let mut called = function
        .call_resumable(ctx.as_context_mut(), &arguments, &mut results)
        .map_err(stopped)?;
    loop {
        called = match called {
            ResumableCall::Finished => break,
            ResumableCall::HostTrap(trap) => return Err(stopped(trap.into_host_error())),
            ResumableCall::OutOfFuel(call) => {
                let mut ctx = ctx.as_context_mut();
                ctx.data().call.interrupt.check()?;
                let fuel = FUEL_SLICE.max(call.required_fuel());
                ctx.set_fuel(fuel).map_err(stopped)?;
                call.resume(ctx, &mut results).map_err(stopped)?
            }
        };
    }
    Ok(match results.first() {
        Some(Val::I32(number)) => Some(*number),
        _ => None,
    })
}

fn stopped(error: Error) -> Stop {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.clone();
    }
    Stop::Trap(match error.as_trap_code() {
        // The text of the engine ends with a number that means nothing.
        Some(TrapCode::IndirectCallToNull) => "uninitialized element".to_owned(),
        _ => error.to_string(),
    })
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> Result<bool, LimiterError> {
        Ok(self.allows_memory(current, desired))
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> Result<bool, LimiterError> {
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
