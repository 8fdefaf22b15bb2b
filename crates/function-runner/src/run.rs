//! From a configuration to a server that runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kiln_server::{
    Observer, Options, Server, Stop, Tls, Token, Words, build_runtime, stop_on_signals,
};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::environment::{Environment, WRAPPER_SERVER_IMAGE};
use crate::evaluators;
use crate::pods;
use crate::started_pods::{ShutDown, StartedPods};
use crate::telemetry;
use crate::workers;

/// How long the last traces may take to be sent when all calls are over.
const LAST_TRACES: Duration = Duration::from_secs(3);

/// How long releasing pods may take when all calls are over.
const RELEASING_PODS: Duration = Duration::from_secs(5);

/// A runner whose port is bound.
pub struct Runner {
    server: Server,
    shut_down_pods: Option<ShutDown>,
    signals: JoinHandle<()>,
}

/// Makes a runner. Everything that can be wrong is found before the port is bound. `start_pods` is called if pods are on.
pub async fn prepare(
    config: &Config,
    environment: &Environment,
    observer: Arc<dyn Observer>,
    start_pods: impl AsyncFnOnce() -> Result<StartedPods>,
) -> Result<Runner> {
    let mut chain = evaluators::prepare(config, environment)?;
    let tls = config.tls.clone().map(Tls::load).transpose()?;
    let token = config.token_file.clone().map(Token::load).transpose();
    let token = token.context("read the token file")?;
    if tls.is_none() {
        tracing::warn!(
            "plaintext: whoever reaches this port can read lists and run functions; \
             --tls-cert and --tls-key turn TLS on, --require-tls insists on it"
        );
    }
    // Last, because it takes longest, and pods may be started.
    let mut usable = None;
    let mut shut_down_pods = None;
    if config.runtimes.pod {
        ensure!(
            config.pods.wrapper_server_image.is_some(),
            "environment variable {WRAPPER_SERVER_IMAGE} must be set to use pod function evaluator runtime; \
             --disable-runtimes=pod turns it off"
        );
        let pods = start_pods().await?;
        // What runs here can be run whatever happens to the cluster.
        usable = chain.exec.is_none().then_some(pods.usable);
        chain.pods = Some(pods.evaluator);
        chain.function_configs = Some(pods.function_configs);
        shut_down_pods = Some(pods.shut_down);
    }
    let evaluators = chain.chain();
    let options = Options {
        max_message_size: config.max_message_size,
        max_held_bytes: config.max_held_bytes,
        connections: config.connections,
        admission: config.admission,
        evaluation_timeout: config.evaluation_timeout,
        drain_timeout: config.drain_timeout,
        tls: tls.map(Arc::new),
        token: token.map(Arc::new),
        observer,
        workers: workers::start(config, environment).await?,
        words: Words::Runner,
        usable,
    };
    let names: Vec<&str> = evaluators.names().collect();
    let names = names.join(", ");
    let server = match config.address {
        Some(address) => Server::bind((address, config.port).into(), evaluators, options).await?,
        None => Server::bind_all(config.port, evaluators, options).await?,
    };
    // Before anybody hears that there is a runner to be ended.
    let signals = stop_on_signals(server.stop()).context("listen to signals")?;
    let signals = tokio::spawn(signals);
    tracing::info!(
        address = %server.address(),
        evaluators = names,
        max_message_size = config.max_message_size,
        max_processes = config.admission.processes,
        "function runner is listening"
    );
    Ok(Runner {
        server,
        shut_down_pods,
        signals,
    })
}

impl Runner {
    /// The address with the port that the system chose, if it had to.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What makes the runner end, besides signals.
    pub fn stop(&self) -> Stop {
        self.server.stop()
    }

    /// Serves until it is made to end.
    pub async fn run(self) {
        self.server.run().await;
        if let Some(shut_down) = self.shut_down_pods {
            shut_down(RELEASING_PODS).await;
        }
        self.signals.abort();
        tracing::info!("function runner has ended");
    }
}

/// Makes a runner and serves until a signal ends it.
pub fn serve(config: &Config, environment: &Environment) -> Result<()> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // As many as may run, and those that were cancelled and are still about to end.
    builder.max_blocking_threads(
        4 * (config.admission.processes.get() + 2 * config.admission.native.get()),
    );
    let runtime = build_runtime(&mut builder).context("start threads")?;
    let served = runtime.block_on(async {
        let telemetry = telemetry::start(config, environment)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        let start_pods = async || pods::start(config, environment).await;
        let runner = prepare(config, environment, telemetry.observer(), start_pods).await?;
        runner.run().await;
        telemetry.shutdown(LAST_TRACES).await;
        Ok(())
    });
    // A native function that does not listen must not keep us.
    runtime.shutdown_background();
    kiln_runtime::process::kill_running();
    served
}
