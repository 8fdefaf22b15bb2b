//! How to connect to a runner.

use std::path::PathBuf;
use std::time::Duration;

use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;

use crate::address::Address;

/// How to connect to a runner.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    pub address: Address,
    /// Limit of requests and responses, in bytes. The runner has its own limit.
    pub max_message_size: usize,
    /// TLS; plain text if not given and the address does not require TLS.
    pub tls: Option<TlsFiles>,
    /// A file with the token that every call carries. It is read for each call, because tokens are renewed.
    pub token_file: Option<PathBuf>,
    /// How long a call tries to connect.
    pub retry_timeout: Duration,
    /// Returns the headers that carry the trace of a call. It is called on the thread of the call.
    pub trace_context: Option<fn() -> TraceHeaders>,
}

/// Headers that carry the trace of a call, by name.
pub type TraceHeaders = Vec<(&'static str, String)>;

/// PEM files for TLS.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The CA certificates; those of the system if not given.
    pub ca: Option<PathBuf>,
    /// The client's certificate and key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the runner's certificate; its host if not given.
    pub server_name: Option<String>,
}

impl RemoteOptions {
    /// The defaults of Porch for all but the address.
    pub fn new(address: Address) -> RemoteOptions {
        RemoteOptions {
            address,
            max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
            tls: None,
            token_file: None,
            retry_timeout: Duration::from_secs(3),
            trace_context: None,
        }
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some() || self.address.is_https()
    }
}
