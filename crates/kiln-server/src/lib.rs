//! The gRPC service that runs functions with any evaluators.
//!
//! A [`Server`] is bound to an address with an [`EvaluatorChain`](kiln_runtime::EvaluatorChain) and [`Options`]. A call
//! arrives on a connection ([`Server`] and its modules), is admitted or refused, runs on its own thread or elsewhere
//! and is answered; an [`Observer`] is notified of all of it. The function runner and the wrapper in a pod use the same
//! service; they differ in their evaluators and in [`Words`].
//!
//! Nothing here knows packages, Kubernetes or native functions. Nothing prints; events are logged with `tracing`. Calls
//! run on threads that may block, never on those that serve connections, so health checks are answered whatever
//! functions do. Native functions run in worker processes ([`WorkerPool`]), so none of them can stop or block the
//! service.

mod admission;
mod answer;
mod body;
mod codec;
mod connection;
mod connections;
mod deadline;
mod evaluate;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod lifecycle;
mod list;
mod memory;
mod monitor;
mod observer;
mod options;
mod router;
mod server;
mod service;
mod signals;
mod status;
mod streams;
mod threads;
mod tls;
mod token;
mod workers;

pub use admission::Lane;
pub use lifecycle::StopHandle;
pub use monitor::ServerMonitor;
pub use observer::{ArrivedCall, Finished, NoObserver, Observer};
pub use options::{
    AdmissionOptions, ConnectionOptions, DEFAULT_CONNECTION_IDLE_TIMEOUT, DEFAULT_DRAIN_TIMEOUT,
    DEFAULT_EVALUATION_TIMEOUT, DEFAULT_MAX_FORWARDED, DEFAULT_MAX_HELD_BYTES, DEFAULT_MAX_QUEUE,
    DEFAULT_REQUEST_TIMEOUT, Options, Words,
};
pub use server::{BindError, Server};
pub use signals::StopSignals;
pub use threads::build_runtime;
pub use tls::{Tls, TlsError, TlsFiles};
pub use token::BearerToken;
pub use workers::{WORKER_NAME, WorkerError, WorkerOptions, WorkerPool, work};
