//! The protocol between those who need a function run and those who run it.
//!
//! [`evaluator`] is what Porch speaks, client and server; [`FunctionFailure`] is what ours say besides when a function
//! fails, and [`failure`] puts it into a status and takes it out again. The definitions are in `proto/`; the code of the
//! messages is generated from them, and nothing here opens a connection.

mod code;
pub mod failure;
#[rustfmt::skip]
#[expect(
    clippy::allow_attributes_without_reason,
    reason = "generated code gives none"
)]
mod generated;
pub mod idle;
mod omit;
pub mod transport;

pub use code::go_code_name;
pub use generated::evaluator;
pub use generated::kiln_evaluator_v1::FunctionFailure;
pub use omit::{omit_middle, omit_middle_encoded};
pub use tonic_types;

/// The name of the service, as health checks ask for it.
pub const SERVICE: &str = evaluator::function_evaluator_server::SERVICE_NAME;

/// The definitions of everything in this crate, as servers offer them to those who ask.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");

/// What a server says (`UNAVAILABLE`) to calls that it does not begin any more, because it is ending. They surely did not
/// run, and may be tried elsewhere.
pub const ENDING: &str = "the server is shutting down";

/// How large a message may be unless told otherwise, in bytes, on both ends.
pub const DEFAULT_MAX_MESSAGE_SIZE: usize = 6 * 1024 * 1024;
