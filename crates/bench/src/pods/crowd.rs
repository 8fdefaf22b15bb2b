//! The memory of a runner with a hundred idle pods.
//!
//! The pods are only objects of the API server: they wait for a scheduler that does not exist, and their status is written
//! by this program. One wrapper on this machine listens on all their addresses, so that the runner has a connection to each
//! of them. The runner adopts them because they are marked as released.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::cluster::ObjectKind;
use super::{Bench, megabytes};
use crate::runner::load::{Client, Load, connect};

const PODS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);
const REPLICA: &str = "fn.kpt.dev/replica";
const FUNCTION: &str = "fn.kpt.dev/function";
/// The replica label of released pods.
const NONE: &str = "none";
/// The port of wrappers.
const PORT: u16 = 9446;
/// As the kernel writes it.
const ESTABLISHED: &str = "01";

pub(super) fn run(bench: &Bench<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let server = bench.start(&["--pod-address-mode=podip"])?;
    let alone = [server.resident()?, server.peak()?].map(megabytes);
    let (pod, service) = bench.runtime.block_on(async {
        bench.once(&connect(server.address).await?).await?;
        let pod = bench.cluster.list(ObjectKind::Pod).await?.pop();
        let service = bench.cluster.list(ObjectKind::Service).await?.pop();
        anyhow::Ok((pod.context("no pod")?, service.context("no service")?))
    })?;
    let with_one = [server.resident()?, server.peak()?].map(megabytes);
    drop(server);
    bench.runtime.block_on(async {
        bench.cluster.clear().await?;
        for number in 0..PODS {
            let simulated = Simulated::new(bench, number);
            let cluster = &bench.cluster;
            cluster
                .create(ObjectKind::Service, &simulated.service(&service))
                .await?;
            cluster
                .create(ObjectKind::Pod, &simulated.pod(&pod))
                .await?;
            let status = simulated.status(&pod);
            cluster.set_status(&simulated.name, &status).await?;
        }
        anyhow::Ok(())
    })?;
    let _wrapper = Wrapper::start(bench)?;
    let server = bench.start(&["--pod-address-mode=podip"])?;
    bench.runtime.block_on(until_connected(bench))?;
    let idle = [server.resident()?, server.peak()?].map(megabytes);
    bench.runtime.block_on(async {
        let client = connect(server.address).await?;
        // There is no such image: only an adopted pod can respond.
        for number in 0..PODS {
            Simulated::new(bench, number)
                .until_it_answers(&client)
                .await?;
        }
        anyhow::Ok(())
    })?;
    let called = [server.resident()?, server.peak()?].map(megabytes);
    writeln!(
        out,
        "{:38} {:>11} {:>9}",
        "memory of the runner, MB", "resident", "at most"
    )?;
    for (name, [resident, peak]) in [
        ("before its first pod", alone),
        ("with one real pod, called once", with_one),
        ("with 100 simulated pods, all idle", idle),
        ("after a call of each of them", called),
    ] {
        writeln!(out, "{name:38} {resident:11.1} {peak:9.1}")?;
    }
    drop(server);
    bench.runtime.block_on(bench.cluster.clear())
}

/// Waits until there is a connection to each pod.
async fn until_connected(bench: &Bench<'_>) -> anyhow::Result<()> {
    let network: Ipv4Addr = format!("{}.0", bench.args.simulated_network).parse()?;
    // As the kernel writes it: the bytes of the address in reverse order, and the port.
    let [first, second, third, _] = network.octets();
    let remote = format!("{third:02X}{second:02X}{first:02X}:{PORT:04X}");
    let is_ours = |line: &&str| {
        let mut fields = line.split_whitespace().skip(2);
        let is_remote = fields.next().is_some_and(|field| field.ends_with(&remote));
        is_remote && fields.next() == Some(ESTABLISHED)
    };
    let began = Instant::now();
    loop {
        let connections = std::fs::read_to_string("/proc/net/tcp")?;
        let count = connections.lines().filter(is_ours).count();
        if count >= PODS {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("the runner has connections to {count} of {PODS} pods");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

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

    /// Replaces name, labels and annotations of a real object by those of this pod.
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

    /// Calls the function until it responds.
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

/// The wrapper that serves all simulated pods.
struct Wrapper(Child);

impl Wrapper {
    fn start(bench: &Bench<'_>) -> anyhow::Result<Wrapper> {
        let child = Command::new(&bench.args.wrapper)
            .args(["--port", &PORT.to_string(), "--", "cat"])
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
