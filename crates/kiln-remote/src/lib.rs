//! Functions that a remote runner runs, called over gRPC.
//!
//! [`RemoteEvaluator`] sends images and lists to a runner that implements the evaluator protocol, ours or Porch's. All
//! calls share one connection, which is made when it is first needed and made again when it is lost. If the runner is
//! ours, a function that failed is returned as from a local process; other runners return only a text.
//!
//! Deliberately absent: repeating a call that the runner may have started. Only what was certainly not sent is sent
//! again.

mod address;
mod answer;
mod connection;
mod error;
mod evaluator;
mod options;
mod problem;

pub use address::{Address, AddressError};
pub use error::{EvalError, SetupError};
pub use evaluator::RemoteEvaluator;
pub use options::{RemoteOptions, TlsFiles, TraceHeaders};
