//! Native functions in worker processes, which a deadline or a limit can kill.
//!
//! A function that runs in the process of the server shares its memory, its stack and its threads: an endless loop or
//! too much memory would stop the server. So the server starts workers ahead of time: the same program, confined by
//! `kiln-sandbox`, which reads a request from a socket, evaluates it and writes the response. A worker serves one call
//! at a time and many in sequence. One that fails in any way, or that exceeds the deadline, is killed and replaced.
//!
//! A call that takes long gives its slot to others and continues in the slow lane, where calls take turns. A call whose turn
//! is over is suspended with its worker. When too many are suspended, its worker is killed and it starts again later, with a
//! longer turn: functions have no effects outside of their worker, and memory is needed only for calls that run or are
//! suspended.
//!
//! - **Invariant:** what a worker sends is data. It is decoded within limits, and nothing in it is trusted.
//! - **Invariant:** a worker that did not finish a call is never used for another one.

mod frame;
mod lease;
mod pool;
mod process;
mod starter;
mod suspension;
mod work;

pub use pool::{WorkerError, WorkerOptions, WorkerPool};
pub use work::{WORKER_NAME, work};

pub(crate) use lease::{Lease, WorkerCall, answer_all};
