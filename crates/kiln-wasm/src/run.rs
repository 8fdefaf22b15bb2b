//! One call of a module: its input, its limits, its outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use kiln_runtime::{
    Certainty, FunctionIdentity, Outcome, Output, ReproducibleCall, RunContext, RunError,
};
use kiln_sandbox::Excess;

use crate::engine::{Code, Instance};
use crate::gojs::{self, GoAnswer, GoValues};
use crate::host::{
    CallClock, CallState, Interrupt, MemoryBudget, MemoryLimit, OutputStreams, RandomBytes, Stop,
    WasmClock, WasmRandom, panic_message,
};
use crate::module::{WasmInterface, WasmModule};
use crate::options::{StepListener, WasmStep};
use crate::wasi1;

/// Default limit of the memory of a module, in bytes.
pub const DEFAULT_MEMORY: u64 = 1 << 30;

/// The same for all calls of a function.
#[derive(Clone, Debug)]
pub(crate) struct CallSettings {
    /// The name of the function, then its arguments.
    pub(crate) arguments: Vec<String>,
    /// `NAME=VALUE`
    pub(crate) environment: Vec<String>,
    pub(crate) clock: WasmClock,
    pub(crate) random: WasmRandom,
    /// Limit of the memory, in bytes.
    pub(crate) memory: u64,
}

/// Runs a module on an input.
pub(crate) fn run(
    code: &dyn Code,
    interface: WasmInterface,
    settings: &CallSettings,
    input: &str,
    ctx: &RunContext,
    listener: Option<&StepListener>,
) -> Result<Outcome, RunError> {
    let started = Instant::now();
    let state = settings.state(input, ctx);
    // A panic is a defect of kiln; it must not end a service.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        run_instance(code, interface, state, listener)
    }));
    let mut ended = match ran {
        Ok(Ok(ended)) => ended,
        Ok(Err(stop)) => Ended::without_output(stop),
        Err(panic) => Ended::without_output(Stop::Trap(format!(
            "a function of the host panicked: {}",
            panic_message(&*panic)
        ))),
    };
    let limit = settings.memory_limit(ctx);
    let is_stopped = matches!(
        ended.stop,
        Err(Stop::TimedOut | Stop::Cancelled | Stop::OutputTooLarge | Stop::OverMemory)
    );
    if is_stopped {
        ctx.stopped_stderr.set(ended.stderr.clone());
    }
    let exit_code = match ended.stop {
        Ok(()) => 0,
        Err(Stop::Exit(code)) => code,
        Err(Stop::TimedOut) => return Err(timed_out(ctx, ended.stderr)),
        Err(Stop::Cancelled) => return Err(RunError::Cancelled),
        Err(Stop::OutputTooLarge) => {
            return Err(RunError::OutputTooLarge {
                limit: ctx.limits.max_output,
            });
        }
        Err(Stop::OverMemory) => return Err(RunError::OverLimit(Excess::Memory(limit))),
        Err(Stop::Trap(message)) => {
            add_line(&mut ended.stderr, &format!("wasm trap: {message}"));
            -1
        }
    };
    // A program that gets no memory prints what it likes; the limit is what helps.
    if exit_code != 0 && ended.is_over_memory {
        ctx.stopped_stderr.set(ended.stderr);
        return Err(RunError::OverLimit(Excess::Memory(limit)));
    }
    Ok(Outcome {
        exit_code,
        signal: None,
        output: Output::Wire(ended.stdout.into()),
        stderr: ended.stderr,
        elapsed: started.elapsed(),
        identity: None,
        is_cached: false,
    })
}

fn timed_out(ctx: &RunContext, stderr: Vec<u8>) -> RunError {
    let timeout = ctx.deadline.map(|deadline| deadline.timeout);
    RunError::TimedOut {
        timeout: timeout.unwrap_or_default(),
        stderr,
    }
}

/// When a call has to end.
pub(crate) fn interrupt(ctx: &RunContext) -> Interrupt {
    Interrupt {
        deadline: ctx.deadline,
        cancel: ctx.cancel.clone(),
    }
}

/// The error of a call that has to end before it has begun.
pub(crate) fn interrupted(ctx: &RunContext) -> Option<RunError> {
    match interrupt(ctx).check() {
        Ok(()) => None,
        Err(Stop::Cancelled) => Some(RunError::Cancelled),
        Err(_) => Some(timed_out(ctx, Vec::new())),
    }
}

impl CallSettings {
    /// The limit of the call does not raise that of the evaluator.
    fn memory_limit(&self, ctx: &RunContext) -> u64 {
        ctx.limits
            .memory
            .map_or(self.memory, |memory| memory.min(self.memory))
    }

    /// What a call of a module depends on besides its input, if clock and random bytes are fixed.
    pub(crate) fn reproducible(
        &self,
        module: &WasmModule,
        ctx: &RunContext,
    ) -> Option<ReproducibleCall> {
        let is_fixed = self.clock == WasmClock::Fixed && self.random == WasmRandom::Fixed;
        let bytes = |texts: &[String]| texts.iter().map(|text| text.clone().into()).collect();
        is_fixed.then(|| ReproducibleCall {
            identity: FunctionIdentity::wasm(&module.digest.to_string(), module.interface.name()),
            interface: module.interface.name(),
            platform: None,
            arguments: bytes(&self.arguments),
            environment: bytes(&self.environment),
            memory: Some(self.memory_limit(ctx)),
            certainty: Certainty::Guaranteed,
        })
    }

    fn state(&self, input: &str, ctx: &RunContext) -> CallState {
        let budget = MemoryBudget::new(self.memory_limit(ctx));
        CallState {
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            input: input.as_bytes().to_vec(),
            input_read: 0,
            output: OutputStreams {
                stdout: Vec::new(),
                stderr: Vec::new(),
                left: ctx.limits.max_output,
                on_stderr: ctx.on_stderr.clone(),
            },
            clock: CallClock::new(self.clock),
            random: RandomBytes::new(self.random),
            interrupt: interrupt(ctx),
            go: GoValues::new(budget.clone()),
            memory: MemoryLimit {
                budget,
                is_exceeded: false,
            },
            nesting: 0,
        }
    }
}

/// How a call ended.
struct Ended {
    stop: Result<(), Stop>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    is_over_memory: bool,
}

impl Ended {
    fn without_output(stop: Stop) -> Ended {
        Ended {
            stop: Err(stop),
            stdout: Vec::new(),
            stderr: Vec::new(),
            is_over_memory: false,
        }
    }
}

fn run_instance(
    code: &dyn Code,
    interface: WasmInterface,
    state: CallState,
    listener: Option<&StepListener>,
) -> Result<Ended, Stop> {
    let interrupt = state.interrupt.clone();
    interrupt.check()?;
    let report = |step: WasmStep, started: Instant| {
        if let Some(listener) = listener {
            listener.receive(step, started.elapsed());
        }
    };
    let mut instance = {
        let _span = tracing::debug_span!("wasm.instantiate").entered();
        let started = Instant::now();
        let instance = code.instantiate(state)?;
        report(WasmStep::Instantiate, started);
        instance
    };
    let _span = tracing::debug_span!("wasm.run").entered();
    let started = Instant::now();
    let mut ended = match interface {
        WasmInterface::Wasi1 => {
            let stop = instance.call(wasi1::START, &[]).map(drop);
            finish(instance, stop)
        }
        WasmInterface::GoJs => {
            let answer = gojs::run(&mut *instance, is_list);
            finish_go(instance, answer)
        }
    };
    report(WasmStep::Run, started);
    // An engine looks at the clock now and then, and not while it translates a function.
    if ended.stop.is_ok() {
        ended.stop = interrupt.check();
    }
    Ok(ended)
}

fn finish(instance: Box<dyn Instance>, stop: Result<(), Stop>) -> Ended {
    let state = instance.finish();
    Ended {
        stop,
        stdout: state.output.stdout,
        stderr: state.output.stderr,
        is_over_memory: state.memory.is_exceeded,
    }
}

/// The answer of a Go program is what its function returned; what it printed is its log.
fn finish_go(instance: Box<dyn Instance>, answer: Result<GoAnswer, Stop>) -> Ended {
    let mut ended = finish(instance, Ok(()));
    let printed = std::mem::take(&mut ended.stdout);
    if !printed.is_empty() {
        add_line(&mut ended.stderr, &String::from_utf8_lossy(&printed));
    }
    match answer {
        Ok(GoAnswer::List(text)) => ended.stdout = text.into_bytes(),
        Ok(GoAnswer::NotList { text, errors }) => {
            ended.stop = Err(Stop::Exit(1));
            for text in [text, errors] {
                if !text.is_empty() {
                    add_line(&mut ended.stderr, &text);
                }
            }
        }
        // A program that ends itself has not answered.
        Err(Stop::Exit(0)) => {
            let text = "the module ended without an answer".to_owned();
            ended.stop = Err(Stop::Trap(text));
        }
        Err(stop) => ended.stop = Err(stop),
    }
    ended
}

fn add_line(stderr: &mut Vec<u8>, line: &str) {
    if !stderr.is_empty() && !stderr.ends_with(b"\n") {
        stderr.push(b'\n');
    }
    stderr.extend_from_slice(line.as_bytes());
}

/// Whether a text is a `ResourceList`, which is how functions without an exit code succeed.
pub(crate) fn is_list(text: &str) -> bool {
    let is_kind = |line: &str| line.trim_end() == "kind: ResourceList";
    if text.lines().take(8).any(is_kind) {
        return true;
    }
    let Ok(Some(document)) = kiln_yaml::parse_first(text.as_bytes()) else {
        return false;
    };
    let kind = document.root().get("kind");
    kind.is_some_and(|kind| kind.value() == "ResourceList")
}
