//! The function runner that Porch calls to run functions, and `kiln serve`, which is the same with other defaults.
//!
//! [`RunnerFlags`] are parsed into a validated [`RunnerConfig`]; [`prepare`] does everything that can fail (tables, certificates,
//! sandbox, pods) and only then binds the port; [`FunctionRunner::run`] serves until a signal stops it.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

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
pub use config::{EnabledEvaluators, PodConfig, RunnerConfig};
pub use environment::{Environment, WRAPPER_SERVER_IMAGE};
pub use flags::{Flavour, RunnerFlags};
pub use run::{FunctionRunner, prepare, serve};
pub use started_pods::{ShutDown, StartedPods};
pub use workers::run_as_worker;
