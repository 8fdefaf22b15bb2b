//! Many concurrent callers, each with one call at a time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use tonic::transport::{Channel, Endpoint};

use super::server::Server;

const WARM_UP: Duration = Duration::from_millis(200);
const MEASURED: Duration = Duration::from_secs(2);
const LIMIT: usize = 64 << 20;

/// A client of a server. Clones share a connection.
pub(crate) type Client = FunctionEvaluatorClient<Channel>;

/// The call, and the number of callers.
pub(crate) struct Load {
    pub(crate) clients: usize,
    pub(crate) image: String,
    pub(crate) list: String,
}

/// The result; times are in seconds.
pub(crate) struct Measured {
    /// Calls per second.
    pub(crate) rate: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Processor time of the server and its programs per call.
    pub(crate) cpu: f64,
}

impl Load {
    pub(crate) fn run(&self, server: &Server) -> anyhow::Result<Measured> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            self.calls(&connect(server.address).await?, WARM_UP).await?;
            let client = connect(server.address).await?;
            let (cpu, start) = (server.cpu()?, Instant::now());
            let mut times = self.calls(&client, MEASURED).await?;
            let (cpu, wall) = (server.cpu()? - cpu, start.elapsed().as_secs_f64());
            times.sort_by(f64::total_cmp);
            Ok(Measured {
                rate: times.len() as f64 / wall,
                p50: at(&times, 0.5)?,
                p99: at(&times, 0.99)?,
                cpu: cpu / times.len() as f64,
            })
        })
    }

    /// The duration of each call that began within the given time; at least one per caller.
    pub(crate) async fn calls(&self, client: &Client, time: Duration) -> anyhow::Result<Vec<f64>> {
        let list: bytes::Bytes = self.list.clone().into();
        let end = Instant::now() + time;
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..self.clients {
            let (mut client, list, image) = (client.clone(), list.clone(), self.image.clone());
            callers.spawn(async move {
                let mut times = Vec::new();
                loop {
                    let start = Instant::now();
                    let request = EvaluateFunctionRequest {
                        resource_list: list.clone(),
                        image: image.clone(),
                    };
                    let answer = client.evaluate_function(request).await?.into_inner();
                    times.push(start.elapsed().as_secs_f64());
                    if answer.resource_list.is_empty() {
                        bail!("{image} answered nothing");
                    }
                    if Instant::now() >= end {
                        return Ok(times);
                    }
                }
            });
        }
        let mut times = Vec::new();
        for caller in callers.join_all().await {
            times.extend(caller?);
        }
        Ok(times)
    }
}

/// A connection to a server.
pub(crate) async fn connect(address: SocketAddr) -> anyhow::Result<Client> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    let client = FunctionEvaluatorClient::new(endpoint.connect().await?);
    Ok(client
        .max_decoding_message_size(LIMIT)
        .max_encoding_message_size(LIMIT))
}

/// A quantile of sorted times.
pub(crate) fn at(times: &[f64], part: f64) -> anyhow::Result<f64> {
    let place = (times.len() as f64 * part) as usize;
    let time = times.get(place.min(times.len().saturating_sub(1)));
    time.copied().context("no call ended")
}
