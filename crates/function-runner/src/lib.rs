//! The function runner that Porch calls to run functions, and `kiln serve`, which is the same with other defaults.
//!
//! [`RunnerFlags`] are parsed into a validated [`RunnerConfig`]; [`prepare`] does everything that can fail (tables, certificates,
//! sandbox, pods) and only then binds the port; [`FunctionRunner::run`] serves until a signal stops it.

mod answers;
mod as_function;
mod config;
mod environment;
mod evaluators;
mod flags;
mod images;
#[cfg(not(feature = "pods"))]
#[path = "no_pods.rs"]
mod pods;
#[cfg(feature = "pods")]
mod pods;
mod registry;
mod run;
mod started_pods;
mod status;
mod telemetry;
mod versions;
mod workers;

pub use as_function::CalledAs;
pub use config::{EnabledEvaluators, PodConfig, RunnerConfig, StatusConfig, WasmConfig};
pub use environment::{Environment, WRAPPER_SERVER_IMAGE};
pub use flags::{Flavour, RunnerFlags};
pub use kiln_server::TlsFiles;
pub use kiln_telemetry::BuildInfo;
pub use run::{CallObservers, FunctionRunner, prepare, serve};
pub use started_pods::{PodsFuture, PodsSource, ShutDown, StartedPods};
pub use versions::newest_functions;
pub use workers::run_as_worker;
