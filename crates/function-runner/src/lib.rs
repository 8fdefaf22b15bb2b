//! The function runner: what Porch calls to run functions, and `kiln serve`, which is the same with other defaults.
//!
//! [`Flags`] are read into a [`Config`] that has been checked whole; [`prepare`] makes everything that can go wrong of it
//! (tables, certificates, sandbox, pods) and only then binds the port; [`Runner::run`] serves until a signal ends it.

mod as_function;
mod config;
mod environment;
mod evaluators;
mod flags;
#[cfg(not(feature = "pods"))]
#[path = "no_pods.rs"]
mod pods;
#[cfg(feature = "pods")]
mod pods;
mod run;
mod started_pods;
mod telemetry;
mod workers;

pub use as_function::CalledAs;
pub use config::{Config, Pods, Runtimes};
pub use environment::{Environment, WRAPPER_SERVER_IMAGE};
pub use flags::{Flags, Flavour};
pub use run::{Runner, prepare, serve};
pub use started_pods::{ShutDown, StartedPods};
pub use workers::run_as_worker;
