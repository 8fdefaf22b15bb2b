//! The memory of a runner with a hundred idle pods.
//!
//! The pods are objects of the API server and no more: they wait for a scheduler that does not exist, and their status is
//! written by hand. Behind their addresses is one wrapper on this machine, so that the runner has a connection to each of
//! them, as it would. It takes them over because they say that they were given back.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::cluster::Kind;
use super::{Bench, megabytes};
use crate::runner::load::{Client, Load, connect};

const PODS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);
const REPLICA: &str = "fn.kpt.dev/replica";
const FUNCTION: &str = "fn.kpt.dev/function";
/// The replica of pods that were given back.
const NONE: &str = "none";

pub(super) fn run(bench: &Bench<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let server = bench.start(&["--pod-address-mode=podip"])?;
    let alone = server.resident()?;
    let (pod, service) = bench.runtime.block_on(async {
        bench.once(&connect(server.address).await?).await?;
        let pod = bench.cluster.list(Kind::Pod).await?.pop();
        let service = bench.cluster.list(Kind::Service).await?.pop();
        anyhow::Ok((pod.context("no pod")?, service.context("no service")?))
    })?;
    let with_one = server.resident()?;
    drop(server);
    bench.runtime.block_on(async {
        bench.cluster.clear().await?;
        for number in 0..PODS {
            let simulated = Simulated::new(bench, number);
            let cluster = &bench.cluster;
            cluster
                .create(Kind::Service, &simulated.service(&service))
                .await?;
            cluster.create(Kind::Pod, &simulated.pod(&pod)).await?;
            let status = simulated.status(&pod);
            cluster.set_status(&simulated.name, &status).await?;
        }
        anyhow::Ok(())
    })?;
    let _wrapper = Wrapper::start(bench)?;
    let server = bench.start(&["--pod-address-mode=podip"])?;
    bench.runtime.block_on(async {
        let client = connect(server.address).await?;
        // There is no such image: only a pod that the runner has taken over can answer.
        for number in 0..PODS {
            Simulated::new(bench, number)
                .until_it_answers(&client)
                .await?;
        }
        anyhow::Ok(())
    })?;
    writeln!(
        out,
        "runner with {PODS} idle pods: {:.1} MB resident, {:.1} MB at most ({:.1} MB with none, {:.1} MB with one)",
        megabytes(server.resident()?),
        megabytes(server.peak()?),
        megabytes(alone),
        megabytes(with_one)
    )?;
    drop(server);
    bench.runtime.block_on(bench.cluster.clear())
}

/// A pod that is not there.
struct Simulated {
    name: String,
    image: String,
    address: String,
    list: String,
}

impl Simulated {
    fn new(bench: &Bench<'_>, number: usize) -> Simulated {
        let Load { list, .. } = bench.load(1);
        Simulated {
            name: format!("simulated-v1-{number}"),
            image: format!("bench.invalid/simulated-{number}:v1"),
            address: format!("{}.{}", bench.args.simulated_network, number + 1),
            list,
        }
    }

    /// Name, labels and annotations of a real object made those of this one.
    fn metadata(&self, real: &Value) -> Value {
        let mut labels = real["metadata"]["labels"].clone();
        for (key, value) in labels.as_object_mut().into_iter().flatten() {
            *value = match key.as_str() {
                REPLICA => json!(NONE),
                _ => json!(self.name),
            };
        }
        let mut annotations = real["metadata"]["annotations"].clone();
        if annotations[FUNCTION].is_string() {
            annotations[FUNCTION] = json!(self.image);
        }
        json!({"name": self.name, "labels": labels, "annotations": annotations})
    }

    fn pod(&self, real: &Value) -> Value {
        let mut spec = real["spec"].clone();
        spec["nodeName"] = Value::Null;
        spec["schedulerName"] = json!("nobody");
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": self.metadata(real), "spec": spec})
    }

    fn status(&self, real: &Value) -> Value {
        let mut status = real["status"].clone();
        status["podIP"] = json!(self.address);
        status["podIPs"] = json!([{"ip": self.address}]);
        status
    }

    fn service(&self, real: &Value) -> Value {
        let mut selector = real["spec"]["selector"].clone();
        for (_, value) in selector.as_object_mut().into_iter().flatten() {
            *value = json!(self.name);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata(real),
            "spec": {"type": "ClusterIP", "ports": real["spec"]["ports"], "selector": selector},
        })
    }

    /// Calls it until there is an answer.
    async fn until_it_answers(&self, client: &Client) -> anyhow::Result<()> {
        let load = Load {
            clients: 1,
            image: self.image.clone(),
            list: self.list.clone(),
        };
        let began = Instant::now();
        while let Err(error) = load.calls(client, Duration::ZERO).await {
            if began.elapsed() > PATIENCE {
                bail!("{} does not answer: {error}", self.name);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

/// The wrapper that answers for all of them.
struct Wrapper(Child);

impl Wrapper {
    fn start(bench: &Bench<'_>) -> anyhow::Result<Wrapper> {
        let child = Command::new(&bench.args.wrapper)
            .args(["--port", "9446", "--", "cat"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Ok(Wrapper(child.context("cannot start the wrapper")?))
    }
}

impl Drop for Wrapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
