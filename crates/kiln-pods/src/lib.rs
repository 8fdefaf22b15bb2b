//! The pod evaluator: runs functions in pods of a Kubernetes cluster.
//!
//! `pool` decides and does nothing else: events go in, commands come out. `driver` owns it, executes the commands and
//! turns what the cluster reports into events. `kube` reads and writes the cluster, `config` holds the settings of
//! pods, and [`PodEvaluator`] is what callers use.

mod config;
mod connection;
mod driver;
mod error;
mod evaluator;
mod images;
mod kube;
mod options;
mod pool;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod snapshot;
#[cfg(test)]
mod testing;

pub use config::function_config::{
    BinaryExecutor, FunctionConfig, FunctionConfigSpec, GoExecutor, LocalExecutors,
    NoLocalExecutors, tag_matches,
};
pub use connection::address::{AddressMode, UnknownAddressMode};
pub use error::{PodError, PodStartError};
pub use evaluator::{PodCall, PodEvaluator};
pub use images::{ImageInfo, ImageResolveError, ImageResolver, RegistryResolver, Resolving};
pub use options::{ClusterSource, PodOptions, PullSecret, TraceContext};
pub use pool::PodFault;
pub use snapshot::{
    ColdStart, PodSnapshot, PodsSnapshot, PoolSnapshot, ReplicaSnapshot, WatchSnapshot,
};
