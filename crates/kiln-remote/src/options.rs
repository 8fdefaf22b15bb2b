//! How a runner is reached.

use std::path::PathBuf;
use std::time::Duration;

use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;

use crate::address::Address;

/// How a runner is reached.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// Where it is.
    pub address: Address,
    /// How large a request or an answer may be, in bytes. The runner has a limit of its own.
    pub max_message_size: usize,
    /// TLS; plain text if not given and the address does not ask for it.
    pub tls: Option<TlsFiles>,
    /// A file with the token that every call carries. It is read anew for each, because tokens are renewed.
    pub token_file: Option<PathBuf>,
    /// How long a call waits for a connection that cannot be made, and tries again.
    pub patience: Duration,
    /// Gives the headers by which the runner learns to which trace a call belongs. It is asked on the thread of the call.
    pub trace_context: Option<fn() -> TraceHeaders>,
}

/// Headers that say to which trace a call belongs, by name.
pub type TraceHeaders = Vec<(&'static str, String)>;

/// What is needed for TLS, in PEM files.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// Whom to believe; those whom the system believes if not given.
    pub ca: Option<PathBuf>,
    /// Who we are: certificate and key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that the runner's certificate must have; its host if not given.
    pub server_name: Option<String>,
}

impl RemoteOptions {
    /// A runner at an address, with everything else as Porch has it.
    pub fn new(address: Address) -> RemoteOptions {
        RemoteOptions {
            address,
            max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
            tls: None,
            token_file: None,
            patience: Duration::from_secs(3),
            trace_context: None,
        }
    }

    /// Whether the connection is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some() || self.address.is_https()
    }
}
