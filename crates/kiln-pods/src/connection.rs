//! The connection to a pod: one for all its calls, kept up and made again when it is lost.

use std::time::Duration;

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::transport::header_limit;
use tonic::transport::{Channel, Endpoint};

use crate::address::Place;
use crate::api::Backoff;

/// What calls a pod. Clones share the connection.
pub(crate) type Client = FunctionEvaluatorClient<Channel>;

/// How long making a connection may take. Pods are near.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Wrappers that are written in Go hang up on clients that ask more often whether they are still there.
const PING_INTERVAL: Duration = Duration::from_secs(5 * 60 + 10);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// So the operating system asks, which offends nobody.
const PROBE_AFTER: Duration = Duration::from_secs(20);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// Connects, however often it takes. A service has its pod a moment after the API server says so.
pub(crate) async fn dial(place: &Place, max_message_size: usize) -> Option<Client> {
    let endpoint = Endpoint::from_shared(format!("http://{}", place.host_port)).ok()?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(PROBE_AFTER))
        .tcp_keepalive_interval(Some(PROBE_INTERVAL))
        .tcp_keepalive_retries(Some(PROBES))
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .http2_max_header_list_size(header_limit(max_message_size));
    let mut backoff = Backoff::default();
    loop {
        match endpoint.connect().await {
            Ok(channel) => {
                let client = FunctionEvaluatorClient::new(channel)
                    .max_decoding_message_size(max_message_size)
                    .max_encoding_message_size(max_message_size);
                return Some(client);
            }
            Err(error) => {
                tracing::debug!(
                    place = place.host_port,
                    "cannot connect to a pod yet: {error}"
                );
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }
}
