//! What keeps other people's programs in their place.
//!
//! A [`Sandbox`] is made once from a [`SandboxPolicy`]; each run of a function gets a [`Cell`] of it, which prepares
//! everything, so that the child only has to make system calls before it becomes the function. What is in force is
//! told by [`Sandbox::probe`]; nothing is silently weaker than it says.
//!
//! The only crate with unsafe code; every block says why it is sound, and there are as few as can be.
//!
//! Deliberately absent: feeding processes and waiting for them, which is `kiln-runtime`'s.

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
mod elsewhere;
#[cfg(not(target_os = "linux"))]
use elsewhere as system;

pub use descriptors::keep_descriptors;
pub use environment::{ALLOWED_VARIABLES, NETWORK_VARIABLES, Surroundings};
pub use measure::{Excess, InForce, Measure, SandboxError, StartError};
pub use policy::{ControlGroupUse, SandboxLimits, SandboxMode, SandboxPolicy};
pub use processes::is_watcher;
pub use processes::{Process, processes};
pub use system::{Cell, Sandbox, Started, confine_worker, lower_priority};
