//! Confines other people's programs.
//!
//! A [`Sandbox`] is made once from a [`SandboxPolicy`]; each run of a function gets a [`SandboxRun`], which prepares
//! everything, so that the child only makes system calls before it executes the function. [`Sandbox::probe`] reports
//! what is in force; nothing is silently weaker than reported. An [`ImageSandbox`] isolates programs of images, each in
//! an [`ImageRun`] with namespaces of its own.
//!
//! The only crate with unsafe code; every block has its reason, and there are as few as possible.
//!
//! With the feature `wasm-jit`, `load_compiled` loads code that the WebAssembly compiler stored.
//!
//! Deliberately absent: writing input, reading output and waiting, which `kiln-runtime` does.

#[cfg(feature = "wasm-jit")]
mod compiled_code;
mod descriptors;
mod environment;
mod image;
mod measure;
mod policy;
mod processes;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
use unsupported as system;

#[cfg(feature = "wasm-jit")]
pub use compiled_code::{CompiledCodeError, check_private_directory, load_compiled};
pub use descriptors::close_descriptors_on_exec;
pub use environment::{ALLOWED_VARIABLES, HostEnvironment, NETWORK_VARIABLES};
pub use image::{
    FileRights, ImageMount, ImageNetwork, ImagePolicy, ImageProcess, IsolationLevel, IsolationStep,
    LevelProbe, MountAccess, RefusedStep,
};
pub use measure::{Excess, InForce, Measure, SandboxError, StartError};
pub use policy::{ControlGroupUse, SandboxLimits, SandboxMode, SandboxPolicy};
pub use processes::is_watcher;
pub use processes::{Process, processes};
pub use system::{
    ImageRun, ImageSandbox, Sandbox, SandboxRun, StartedProcess, confine_worker, lower_priority,
};
