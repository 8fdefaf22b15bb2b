//! The connection to a pod: one for all its calls, kept up and made again when it is lost.

use std::error::Error;
use std::time::Duration;

use http::uri::PathAndQuery;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::idle::told_idle;
use kiln_proto::transport::header_limit;
use kiln_runtime::go_duration;
use tokio::time::{Instant, timeout};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use crate::address::Place;
use crate::api::Backoff;

/// What calls a pod. Clones share the connection.
pub(crate) type Client = FunctionEvaluatorClient<Channel>;

/// A connection to a pod.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    channel: Channel,
}

/// How long a pod may take to say how it is.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

impl Connection {
    /// How long nobody has called the pod; none if it does not say, as Porch's wrapper does not.
    pub(crate) async fn idle(self) -> Option<Duration> {
        let ask = async {
            let mut grpc = Grpc::new(self.channel);
            grpc.ready().await.ok()?;
            // A question without a name and one about everything are the same, and of the answer only the metadata is of
            // interest.
            let codec = ProstCodec::<(), ()>::default();
            let path = PathAndQuery::from_static("/grpc.health.v1.Health/Check");
            let answer = grpc.unary(tonic::Request::new(()), path, codec).await;
            told_idle(answer.ok()?.metadata())
        };
        timeout(HEALTH_TIMEOUT, ask).await.ok().flatten()
    }
}

/// How long making a connection may take. Pods are near.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the first attempts to make one may take.
const FIRST_ATTEMPTS: Duration = Duration::from_millis(100);

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
) -> Result<Connection, String> {
    let endpoints = place.ways().map(|way| endpoint(way, max_message_size));
    let endpoints = endpoints.collect::<Result<Vec<Endpoint>, String>>()?;
    let mut ways = endpoints.iter().cycle();
    let channel = until_connected(tell, || {
        let way = ways.next();
        async move {
            let way = way.ok_or("there is no way to it")?;
            way.connect().await.map_err(|error| with_causes(&error))
        }
    });
    let channel = channel.await?;
    let client = FunctionEvaluatorClient::new(channel.clone())
        .max_decoding_message_size(max_message_size)
        .max_encoding_message_size(max_message_size);
    Ok(Connection { client, channel })
}

fn endpoint(host_port: &str, max_message_size: usize) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(format!("http://{host_port}"));
    let endpoint = endpoint.map_err(|error| error.to_string())?;
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(PROBE_AFTER))
        .tcp_keepalive_interval(Some(PROBE_INTERVAL))
        .tcp_keepalive_retries(Some(PROBES))
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .http2_max_header_list_size(header_limit(max_message_size)))
}

/// Makes attempts until one succeeds or there have been enough.
///
/// A service leads to its pod a moment after the API server says so. What was sent there before is lost, and so is what is
/// sent again on the same connection, by whole seconds later: only another attempt gets through. So attempts are given up
/// soon, and later the longer this takes.
async fn until_connected<T, F>(
    tell: impl Fn(&str),
    mut attempt: impl FnMut() -> F,
) -> Result<T, String>
where
    F: Future<Output = Result<T, String>>,
{
    let began = Instant::now();
    let mut backoff = Backoff::default();
    loop {
        let patience = (began.elapsed() / 2).clamp(FIRST_ATTEMPTS, CONNECT_TIMEOUT);
        let (error, wait) = match timeout(patience, attempt()).await {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(error)) => (error, backoff.next()),
            Err(_) => (
                format!("no answer within {}", go_duration(patience)),
                Duration::ZERO,
            ),
        };
        let next = Instant::now() + wait;
        if next >= began + PATIENCE {
            return Err(error);
        }
        tell(&error);
        tokio::time::sleep_until(next).await;
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
