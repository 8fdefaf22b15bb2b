//! The connection to a pod: shared by all its calls, kept alive and re-established when it is lost.

pub(crate) mod address;

use std::time::Duration;

use kiln_go::{GoDuration, error_chain};
use kiln_proto::client::EvaluatorClient;
use kiln_proto::idle::idle_time;
use kiln_proto::peer::MessageLimits;
use kiln_proto::transport;
use tokio::time::{Instant, timeout};
use tonic::transport::Endpoint;

use crate::connection::address::PodAddress;
use crate::kube::api::Backoff;

#[derive(Clone, Debug)]
pub(crate) struct PodConnection {
    pub(crate) client: EvaluatorClient,
}

/// Time limit of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

impl PodConnection {
    /// The time since the last call of the pod; `None` if the wrapper does not report it (Porch's does not).
    pub(crate) async fn idle(self) -> Option<Duration> {
        let ask = async { idle_time(&self.client.check_health().await.ok()?) };
        timeout(HEALTH_TIMEOUT, ask).await.ok().flatten()
    }
}

/// Time limit of one connection attempt. Pods are close.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit of the first connection attempts.
const FIRST_ATTEMPTS: Duration = Duration::from_millis(100);

const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// How long connecting is retried. A service routes to its pod a moment after the API server reports it, and its name
/// resolves later still if a resolver has cached a negative answer.
const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Connects to a pod, with retries. `on_error` gets the errors of failed attempts; the last one is returned.
pub(crate) async fn connect(
    address: &PodAddress,
    max_message_size: usize,
    on_error: impl Fn(&str),
) -> Result<PodConnection, String> {
    let endpoints = address
        .candidates()
        .map(|candidate| endpoint(candidate, max_message_size));
    let endpoints = endpoints.collect::<Result<Vec<Endpoint>, String>>()?;
    let mut candidates = endpoints.iter().cycle();
    let channel = until_connected(on_error, || {
        let candidate = candidates.next();
        async move {
            let candidate = candidate.ok_or("the pod has no address")?;
            candidate
                .connect()
                .await
                .map_err(|error| error_chain(&error))
        }
    });
    let channel = channel.await?;
    let client = EvaluatorClient::new(channel, MessageLimits::new(max_message_size));
    Ok(PodConnection { client })
}

fn endpoint(host_port: &str, max_message_size: usize) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(format!("http://{host_port}"));
    let endpoint = endpoint.map_err(|error| error.to_string())?;
    let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
    Ok(transport::configure(
        endpoint,
        PROBE_INTERVAL,
        max_message_size,
    ))
}

/// Repeats an attempt until it succeeds or the deadline passes.
///
/// A service routes to its pod a moment after the API server reports it. Packets sent before that are lost, and TCP
/// repeats them only after whole seconds: a new attempt gets through sooner. The first attempts therefore have a short
/// time limit, which grows with the time spent.
async fn until_connected<T, F>(
    on_error: impl Fn(&str),
    mut attempt: impl FnMut() -> F,
) -> Result<T, String>
where
    F: Future<Output = Result<T, String>>,
{
    let began = Instant::now();
    let mut backoff = Backoff::default();
    loop {
        let time_limit = (began.elapsed() / 2).clamp(FIRST_ATTEMPTS, CONNECT_TIMEOUT);
        let (error, wait) = match timeout(time_limit, attempt()).await {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(error)) => (error, backoff.next()),
            Err(_) => (
                format!(
                    "no response within {}",
                    GoDuration::from_whole_millis(time_limit)
                ),
                Duration::ZERO,
            ),
        };
        let next = Instant::now() + wait;
        if next >= began + CONNECT_DEADLINE {
            return Err(error);
        }
        on_error(&error);
        tokio::time::sleep_until(next).await;
    }
}

#[cfg(test)]
mod tests;
