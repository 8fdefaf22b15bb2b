//! The connection to a pod: one for all its calls, kept up and made again when it is lost.

use std::error::Error;
use std::time::Duration;

use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::transport::header_limit;
use tokio::time::Instant;
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

/// How long it is tried. A service has its pod a moment after the API server says so, and its name a while later still
/// where somebody remembers that there was no such name.
const PATIENCE: Duration = Duration::from_secs(15);

/// Connects, however often it takes within reason. What goes wrong on the way is told, and the last of it returned.
pub(crate) async fn dial(
    place: &Place,
    max_message_size: usize,
    tell: impl Fn(&str),
) -> Result<Client, String> {
    let endpoint = Endpoint::from_shared(format!("http://{}", place.host_port));
    let endpoint = endpoint.map_err(|error| error.to_string())?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(PROBE_AFTER))
        .tcp_keepalive_interval(Some(PROBE_INTERVAL))
        .tcp_keepalive_retries(Some(PROBES))
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .http2_max_header_list_size(header_limit(max_message_size));
    let until = Instant::now() + PATIENCE;
    let mut backoff = Backoff::default();
    loop {
        match endpoint.connect().await {
            Ok(channel) => {
                let client = FunctionEvaluatorClient::new(channel)
                    .max_decoding_message_size(max_message_size)
                    .max_encoding_message_size(max_message_size);
                return Ok(client);
            }
            Err(error) => {
                let error = with_causes(&error);
                let next = Instant::now() + backoff.next();
                if next >= until {
                    return Err(error);
                }
                tell(&error);
                tokio::time::sleep_until(next).await;
            }
        }
    }
}

/// An error in one line. What a cause says that was said before is not said again.
fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut line = String::new();
    for text in causes.map(ToString::to_string) {
        if line.is_empty() {
            line = text;
        } else if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
    }
    line
}

#[cfg(test)]
mod tests;
