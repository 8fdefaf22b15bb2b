//! The one connection to a runner, and the thread that holds it.
//!
//! It is made when the first call needs it. When it cannot be made, all calls wait together before the next attempt, a
//! little longer each time; each gives up when its patience is over.

mod gate;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::failure::ROOM_METADATA;
use kiln_proto::transport::{header_limit, room, was_not_sent};
use kiln_runtime::Deadline;
use tokio::task::JoinHandle;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use crate::error::SetupError;
use crate::options::{RemoteOptions, TlsFiles};
use gate::Gate;

/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Go's servers hang up on clients that ask more often whether they are still there.
const PING_INTERVAL: Duration = Duration::from_secs(5 * 60 + 10);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// So the operating system asks, which offends nobody.
const PROBE_AFTER: Duration = Duration::from_secs(20);
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

/// A connection, whether there is one at the moment or not.
pub(crate) struct Connection {
    /// None only while it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
    caller: Arc<Caller>,
}

impl Connection {
    /// Starts the thread; nothing is sent yet.
    pub(crate) fn start(endpoint: &Endpoint, options: &RemoteOptions) -> Result<Self, SetupError> {
        // The runtime panics where this is an error.
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
        let client = FunctionEvaluatorClient::new(channel)
            .max_decoding_message_size(options.max_message_size)
            .max_encoding_message_size(options.max_message_size);
        let caller = Caller {
            client,
            gate: Gate::default(),
            patience: options.patience,
            room: room(options.max_message_size),
        };
        Ok(Connection {
            runtime: Some(runtime),
            caller: Arc::new(caller),
        })
    }

    /// Calls the runner; none if the connection ended before it answered. The call runs on the thread of the connection,
    /// so that the future can be polled anywhere; dropping it gives the call up.
    pub(crate) async fn call(
        &self,
        request: EvaluateFunctionRequest,
        metadata: MetadataMap,
        deadline: Option<Deadline>,
    ) -> Option<Result<EvaluateFunctionResponse, Status>> {
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
            // Waiting for it is not allowed everywhere, and no call is left.
            runtime.shutdown_background();
        }
    }
}

/// What every call needs.
struct Caller {
    client: FunctionEvaluatorClient<Channel>,
    gate: Gate,
    patience: Duration,
    room: usize,
}

impl Caller {
    /// Calls until the call got through.
    async fn evaluate(
        &self,
        message: EvaluateFunctionRequest,
        metadata: MetadataMap,
        deadline: Option<Deadline>,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let give_up = Instant::now() + self.patience;
        loop {
            self.gate.pass().await;
            let attempted = Instant::now();
            let mut request = Request::new(message.clone());
            *request.metadata_mut() = metadata.clone();
            let room = MetadataValue::from(self.room);
            request.metadata_mut().insert(ROOM_METADATA, room);
            if let Some(deadline) = deadline {
                request.set_timeout(deadline.at.saturating_duration_since(attempted));
            }
            match self.client.clone().evaluate_function(request).await {
                Err(status) if was_not_sent(&status) => {
                    let next = self.gate.close(attempted);
                    if next > give_up {
                        return Err(status);
                    }
                }
                answer => {
                    self.gate.open();
                    return answer.map(tonic::Response::into_inner);
                }
            }
        }
    }
}

/// Where and how to connect; files are read here.
pub(crate) fn endpoint(options: &RemoteOptions) -> Result<Endpoint, SetupError> {
    let tls_error = |error: tonic::transport::Error| SetupError::Tls {
        reason: kiln_go::error_chain(&error),
    };
    let uri = options.address.uri(options.is_encrypted());
    let endpoint = Endpoint::from_shared(Bytes::from(uri)).map_err(tls_error)?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(PROBE_AFTER))
        .tcp_keepalive_interval(Some(PROBE_INTERVAL))
        .tcp_keepalive_retries(Some(PROBES))
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .http2_max_header_list_size(header_limit(options.max_message_size));
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

/// A file of certificates; one without any would mean that nobody is believed.
fn certificates(path: &Path) -> Result<Vec<u8>, SetupError> {
    const MARK: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let pem = read(path)?;
    if pem.windows(MARK.len()).any(|window| window == MARK) {
        return Ok(pem);
    }
    Err(SetupError::Tls {
        reason: format!("{} holds no certificate", path.display()),
    })
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SetupError> {
    fs::read(path).map_err(|source| SetupError::File {
        path: path.to_owned(),
        source,
    })
}
