//! The one connection to a runner, and the thread that owns it.
//!
//! The first call makes the connection. If that fails, all calls wait together before the next attempt, a little longer
//! each time; each fails when its retry timeout is over.

mod backoff;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_proto::client::{CallError, EvaluatorClient};
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::peer::MessageLimits;
use kiln_proto::transport::{self, was_not_sent};
use kiln_runtime::Deadline;
use tokio::task::JoinHandle;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Response};

use crate::error::SetupError;
use crate::options::{RemoteOptions, TlsFiles};
use backoff::ReconnectBackoff;

/// Time limit of making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// A connection, whether it is established or not.
pub(crate) struct Connection {
    /// `None` only while it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
    caller: Arc<Caller>,
}

impl Connection {
    /// Starts the thread; sends nothing yet.
    pub(crate) fn start(endpoint: &Endpoint, options: &RemoteOptions) -> Result<Self, SetupError> {
        // tokio panics where this returns an error.
        let probe = std::thread::Builder::new().spawn(|| ());
        probe.map_err(SetupError::Thread)?.join().ok();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kiln-remote")
            .enable_all()
            .build()
            .map_err(SetupError::Thread)?;
        let channel = {
            let _entered = runtime.enter();
            endpoint.connect_lazy()
        };
        let limits = MessageLimits::new(options.max_message_size);
        let caller = Caller {
            client: EvaluatorClient::new(channel, limits),
            backoff: ReconnectBackoff::default(),
            retry_timeout: options.retry_timeout,
        };
        Ok(Connection {
            runtime: Some(runtime),
            caller: Arc::new(caller),
        })
    }

    /// Calls the runner; `None` if the connection ended before it answered. The call runs on the thread of the
    /// connection, so that the future can be polled anywhere; dropping it cancels the call.
    pub(crate) async fn call(
        &self,
        request: EvaluateFunctionRequest,
        metadata: MetadataMap,
        deadline: Option<Deadline>,
    ) -> Option<Result<Response<EvaluateFunctionResponse>, CallError>> {
        let caller = Arc::clone(&self.caller);
        let call = async move { caller.evaluate(request, metadata, deadline).await };
        let mut call = AbortOnDrop(self.runtime.as_ref()?.spawn(call));
        (&mut call.0).await.ok()
    }
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Blocking is not allowed everywhere, and no call is left.
            runtime.shutdown_background();
        }
    }
}

/// The state that all calls share.
struct Caller {
    client: EvaluatorClient,
    backoff: ReconnectBackoff,
    retry_timeout: Duration,
}

impl Caller {
    /// Repeats the call until it is sent.
    async fn evaluate(
        &self,
        message: EvaluateFunctionRequest,
        metadata: MetadataMap,
        deadline: Option<Deadline>,
    ) -> Result<Response<EvaluateFunctionResponse>, CallError> {
        let give_up = Instant::now() + self.retry_timeout;
        loop {
            self.backoff.wait().await;
            let attempted = Instant::now();
            let mut request = Request::new(());
            *request.metadata_mut() = metadata.clone();
            if let Some(deadline) = deadline {
                request.set_timeout(deadline.at.saturating_duration_since(attempted));
            }
            let (metadata, ..) = request.into_parts();
            match self.client.evaluate(message.clone(), metadata).await {
                Err(CallError::Status(status)) if was_not_sent(&status) => {
                    let next = self.backoff.record_failure(attempted);
                    if next > give_up {
                        return Err(CallError::Status(status));
                    }
                }
                answer => {
                    self.backoff.reset();
                    return answer;
                }
            }
        }
    }
}

/// The endpoint; reads the files of certificates.
pub(crate) fn endpoint(options: &RemoteOptions) -> Result<Endpoint, SetupError> {
    let tls_error = |error: tonic::transport::Error| SetupError::Tls {
        reason: kiln_go::error_chain(&error),
    };
    let uri = options.address.uri(options.is_encrypted());
    let endpoint = Endpoint::from_shared(Bytes::from(uri)).map_err(tls_error)?;
    let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
    let endpoint = transport::configure(endpoint, PROBE_INTERVAL, options.max_message_size);
    if !options.is_encrypted() {
        return Ok(endpoint);
    }
    let files = options.tls.clone().unwrap_or_default();
    endpoint.tls_config(tls_config(&files)?).map_err(tls_error)
}

fn tls_config(files: &TlsFiles) -> Result<ClientTlsConfig, SetupError> {
    let mut config = ClientTlsConfig::new().assume_http2(true);
    config = match &files.ca {
        Some(path) => config.ca_certificate(Certificate::from_pem(certificates(path)?)),
        None => config.with_native_roots(),
    };
    if let Some((certificate, key)) = &files.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    if let Some(name) = &files.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}

/// Reads a file of certificates. A file without certificates would mean that no server is trusted.
fn certificates(path: &Path) -> Result<Vec<u8>, SetupError> {
    const MARK: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let pem = read(path)?;
    if pem.windows(MARK.len()).any(|window| window == MARK) {
        return Ok(pem);
    }
    Err(SetupError::Tls {
        reason: format!("{} contains no certificate", path.display()),
    })
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SetupError> {
    fs::read(path).map_err(|source| SetupError::File {
        path: path.to_owned(),
        source,
    })
}
