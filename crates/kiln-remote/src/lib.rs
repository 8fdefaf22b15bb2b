//! Functions that a runner elsewhere runs, asked over gRPC.
//!
//! [`RemoteEvaluator`] sends images and lists to a runner that speaks the evaluator protocol, ours or Porch's. All calls
//! share one connection, which is made when it is first needed and made again when it is lost. A function that failed
//! comes back as it would from a local process if the runner is ours; others say no more than a text, and that is shown.
//!
//! Deliberately absent: repeating a call that the runner may have begun. Only what was certainly not sent is sent again.

mod address;
mod answer;
mod connection;
mod error;
mod evaluator;
mod options;

pub use address::{Address, AddressError};
pub use error::{EvalError, SetupError};
pub use evaluator::RemoteEvaluator;
pub use options::{RemoteOptions, TlsFiles, TraceHeaders};
