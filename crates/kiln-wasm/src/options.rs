//! The settings of the evaluator.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::host::{WasmClock, WasmRandom};
use crate::run::DEFAULT_MEMORY;

/// How modules are run.
#[derive(Clone)]
pub struct WasmOptions {
    pub engine: WasmEngine,
    pub usage: WasmUsage,
    pub clock: WasmClock,
    pub random: WasmRandom,
    /// Limit of the memory of a module, in bytes, for calls without a limit of their own.
    pub memory: u64,
    /// The directory for modules and compiled code; `None` means that nothing is stored.
    pub cache: Option<PathBuf>,
    /// Receives how long the steps of calls take.
    pub on_step: Option<StepListener>,
}

impl WasmOptions {
    /// Whether the result of a function depends on nothing but the module and its input.
    pub fn is_deterministic(&self) -> bool {
        self.clock == WasmClock::Fixed && self.random == WasmRandom::Fixed
    }
}

impl Default for WasmOptions {
    fn default() -> WasmOptions {
        WasmOptions {
            engine: WasmEngine::Auto,
            usage: WasmUsage::Command,
            clock: WasmClock::Fixed,
            random: WasmRandom::Fixed,
            memory: DEFAULT_MEMORY,
            cache: None,
            on_step: None,
        }
    }
}

/// Whether this build has the compiler.
pub const HAS_COMPILER: bool = cfg!(feature = "wasm-jit");

/// The engines of this build, by the values of the flag.
pub const ENGINES: &[&str] = match HAS_COMPILER {
    true => &["interpreter", "compiler"],
    false => &["interpreter"],
};

/// Which engine runs modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WasmEngine {
    /// Compiled code if there is some, else the interpreter.
    #[default]
    Auto,
    /// Only the interpreter, which makes no executable memory.
    Interpreter,
    /// Only the compiler; the first call waits for it.
    Compiler,
}

/// The program that runs modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WasmUsage {
    /// A command, which ends soon.
    #[default]
    Command,
    /// A server, which can compile while it goes on.
    Server,
}

/// A step of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WasmStep {
    /// Reading a module, or its compiled code, into an engine.
    Load,
    Compile,
    /// Making the instance of one call.
    Instantiate,
    /// The function's own work.
    Run,
}

/// Receives the steps of calls, on any thread.
#[derive(Clone)]
pub struct StepListener {
    receive: Arc<OnStep>,
}

type OnStep = dyn Fn(WasmStep, Duration) + Send + Sync;

impl StepListener {
    pub fn new(receive: impl Fn(WasmStep, Duration) + Send + Sync + 'static) -> StepListener {
        StepListener {
            receive: Arc::new(receive),
        }
    }

    pub(crate) fn receive(&self, step: WasmStep, elapsed: Duration) {
        (self.receive)(step, elapsed);
    }
}

/// Why a text is not one of the values of a flag.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of: {0}")]
pub struct WasmFlagError(&'static str);

impl FromStr for WasmEngine {
    type Err = WasmFlagError;

    fn from_str(text: &str) -> Result<WasmEngine, WasmFlagError> {
        match text {
            "auto" => Ok(WasmEngine::Auto),
            "interpreter" => Ok(WasmEngine::Interpreter),
            "compiler" => Ok(WasmEngine::Compiler),
            _ => Err(WasmFlagError("auto, interpreter, compiler")),
        }
    }
}

impl FromStr for WasmClock {
    type Err = WasmFlagError;

    fn from_str(text: &str) -> Result<WasmClock, WasmFlagError> {
        match text {
            "fixed" => Ok(WasmClock::Fixed),
            "real" => Ok(WasmClock::Real),
            _ => Err(WasmFlagError("fixed, real")),
        }
    }
}

impl FromStr for WasmRandom {
    type Err = WasmFlagError;

    fn from_str(text: &str) -> Result<WasmRandom, WasmFlagError> {
        match text {
            "fixed" => Ok(WasmRandom::Fixed),
            "real" => Ok(WasmRandom::Real),
            _ => Err(WasmFlagError("fixed, real")),
        }
    }
}

impl fmt::Display for WasmStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WasmStep::Load => "wasm.load",
            WasmStep::Compile => "wasm.compile",
            WasmStep::Instantiate => "wasm.instantiate",
            WasmStep::Run => "wasm.run",
        })
    }
}

impl fmt::Debug for WasmOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmOptions")
            .field("engine", &self.engine)
            .field("usage", &self.usage)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
