//! Many callers at once, each with one call after the other.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use tonic::transport::Endpoint;

use super::server::Server;

const WARM_UP: Duration = Duration::from_millis(200);
const MEASURED: Duration = Duration::from_secs(2);
const LIMIT: usize = 64 << 20;

/// What is called, and by how many.
pub(crate) struct Load {
    pub(crate) clients: usize,
    pub(crate) image: &'static str,
    pub(crate) list: String,
}

/// What came of it; times are in seconds.
pub(crate) struct Measured {
    /// Calls a second.
    pub(crate) rate: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Of the server and its programs, for each call.
    pub(crate) cpu: f64,
}

impl Load {
    pub(crate) fn run(&self, server: &Server) -> anyhow::Result<Measured> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            self.calls(server, WARM_UP).await?;
            let (cpu, start) = (server.cpu()?, Instant::now());
            let mut times = self.calls(server, MEASURED).await?;
            let (cpu, wall) = (server.cpu()? - cpu, start.elapsed().as_secs_f64());
            times.sort_by(f64::total_cmp);
            let count = times.len();
            let at = |part: f64| {
                let place = (count as f64 * part) as usize;
                let time = times.get(place.min(count.saturating_sub(1)));
                time.copied().context("no call ended")
            };
            Ok(Measured {
                rate: count as f64 / wall,
                p50: at(0.5)?,
                p99: at(0.99)?,
                cpu: cpu / count as f64,
            })
        })
    }

    /// How long each call took, of all that began within a time.
    async fn calls(&self, server: &Server, time: Duration) -> anyhow::Result<Vec<f64>> {
        let channel = Endpoint::from_shared(format!("http://{}", server.address))?
            .connect()
            .await?;
        let client = FunctionEvaluatorClient::new(channel)
            .max_decoding_message_size(LIMIT)
            .max_encoding_message_size(LIMIT);
        let list: bytes::Bytes = self.list.clone().into();
        let end = Instant::now() + time;
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..self.clients {
            let (mut client, list, image) = (client.clone(), list.clone(), self.image);
            callers.spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let start = Instant::now();
                    let request = EvaluateFunctionRequest {
                        resource_list: list.clone(),
                        image: image.to_owned(),
                    };
                    let answer = client.evaluate_function(request).await?.into_inner();
                    times.push(start.elapsed().as_secs_f64());
                    if answer.resource_list.is_empty() {
                        bail!("{image} answered nothing");
                    }
                }
                Ok(times)
            });
        }
        let mut times = Vec::new();
        for caller in callers.join_all().await {
            times.extend(caller?);
        }
        Ok(times)
    }
}
