//! Confines other people's programs.
//!
//! A [`Sandbox`] is made once from a [`SandboxPolicy`]; each run of a function gets a [`SandboxRun`], which prepares
//! everything, so that the child only makes system calls before it executes the function. [`Sandbox::probe`] reports
//! what is in force; nothing is silently weaker than reported.
//!
//! The only crate with unsafe code; every block has its reason, and there are as few as possible.
//!
//! Deliberately absent: writing input, reading output and waiting, which `kiln-runtime` does.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

mod descriptors;
mod environment;
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
use elsewhere as system;

pub use descriptors::close_descriptors_on_exec;
pub use environment::{ALLOWED_VARIABLES, HostEnvironment, NETWORK_VARIABLES};
pub use measure::{Excess, InForce, Measure, SandboxError, StartError};
pub use policy::{ControlGroupUse, SandboxLimits, SandboxMode, SandboxPolicy};
pub use processes::is_watcher;
pub use processes::{Process, processes};
pub use system::{Sandbox, SandboxRun, StartedProcess, confine_worker, lower_priority};
