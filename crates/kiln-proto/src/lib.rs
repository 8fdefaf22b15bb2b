//! The protocol between clients that need a function run and servers that run it.
//!
//! [`evaluator`] is Porch's protocol, client and server; [`FunctionFailure`] is our addition for functions that fail,
//! and [`failure`] puts it into a status and takes it out again. The definitions are in `proto/`; the code of the
//! messages is generated from them, and nothing here opens a connection. [`client`] calls an evaluator over a connection,
//! [`peer`] has what kiln programs announce to each other, [`parts`] how they send lists that are larger than a message.

pub mod client;
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
pub mod parts;
pub mod peer;
pub mod transport;

pub use code::go_code_name;
pub use generated::evaluator;
pub use generated::kiln_evaluator_v1::FunctionFailure;
pub use omit::{omit_middle, omit_middle_encoded};
pub use tonic_types;

/// The name of the service in health checks.
pub const SERVICE: &str = evaluator::function_evaluator_server::SERVICE_NAME;

/// The definitions of everything in this crate, for server reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");

/// The status text (`UNAVAILABLE`) of calls that a server does not start because it is shutting down. They certainly
/// did not run, and may be tried elsewhere.
pub const SHUTTING_DOWN: &str = "the server is shutting down";

/// The response metadata in which a server reports what exactly ran. Peers that do not know it ignore it.
pub const IDENTITY_METADATA: &str = "kiln-function-identity";

/// Default size limit of messages, in bytes, of clients and servers.
pub const DEFAULT_MAX_MESSAGE_SIZE: usize = 6 * 1024 * 1024;
