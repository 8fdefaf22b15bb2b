//! `bench pods`: functions in pods of a real cluster, called through the function runner and directly.
//!
//! `bench/pods` creates the namespaces and images. Direct calls go to the wrapper in the pod that the runner calls, at the
//! same address: the difference is the runner. For cold calls the image is on the node already; pulling images is not
//! measured. The two ways are measured alternately, so that other load on the machine affects both. The runner gets the
//! address of the API server and the image of the wrapper from the environment.

mod cluster;
mod cold;
mod crowd;
mod warm;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::generate;
use crate::runner::load::{Client, Load};
use crate::runner::server::Server;
use cluster::Cluster;

const RESOURCES: usize = 10;
const CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {namespace: prod}";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The function runner to measure.
    #[arg(long)]
    runner: PathBuf,
    /// The wrapper, for simulated pods.
    #[arg(long)]
    wrapper: PathBuf,
    /// The administrator's kubeconfig.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The audit log of the API server.
    #[arg(long)]
    audit_log: PathBuf,
    /// The user name of the runner.
    #[arg(long)]
    user: String,
    /// The namespace of pods.
    #[arg(long)]
    namespace: String,
    /// The image of a function that returns its input.
    #[arg(long)]
    image: String,
    /// The first three numbers of IP addresses that are routed to this machine.
    #[arg(long)]
    simulated_network: String,
    /// Measure only this.
    #[arg(long)]
    only: Option<Measurement>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Calls with a ready pod.
    Warm,
    /// Calls without a pod.
    Cold,
    /// A runner with many pods.
    Crowd,
}

/// Everything that the measurements need.
struct Bench<'a> {
    args: &'a Args,
    runtime: Runtime,
    cluster: Cluster,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let cluster = runtime.block_on(Cluster::connect(&args.kubeconfig, &args.namespace))?;
    let bench = Bench {
        args,
        runtime,
        cluster,
    };
    let is_wanted = |part| args.only.is_none_or(|only| only == part);
    let mut ratio = None;
    if is_wanted(Measurement::Warm) {
        ratio = Some(warm::run(&bench, out)?);
        bench.runtime.block_on(bench.cluster.clear())?;
    }
    if is_wanted(Measurement::Cold) {
        cold::run(&bench, out)?;
        bench.runtime.block_on(bench.cluster.clear())?;
    }
    if is_wanted(Measurement::Crowd) {
        crowd::run(&bench, out)?;
    }
    match ratio {
        Some(ratio) => writeln!(out, "ratio={ratio:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

impl Bench<'_> {
    fn start(&self, more: &[&str]) -> anyhow::Result<Server> {
        let namespace = format!("--pod-namespace={}", self.args.namespace);
        let fixed = [
            &namespace,
            "--listen-address=127.0.0.1",
            "--disable-runtimes=exec",
            "--log-level=0",
        ];
        Server::start(&self.args.runner, &[&fixed[..], more].concat())
    }

    /// A load of `clients` concurrent callers of the function.
    fn load(&self, clients: usize) -> Load {
        Load {
            clients,
            image: self.args.image.clone(),
            list: generate::function_input(RESOURCES, CONFIG),
        }
    }

    async fn once(&self, client: &Client) -> anyhow::Result<()> {
        self.load(1).calls(client, Duration::ZERO).await.map(drop)
    }
}

/// The median; NaN without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
