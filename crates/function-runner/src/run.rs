//! Starts and runs the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kiln_server::{
    BearerToken, Observer, Options, Server, StopHandle, StopSignals, Tls, Words, build_runtime,
};
use kiln_telemetry::{CallHistory, FailureMessages, PageServer};
use tokio::task::JoinHandle;

use crate::answers;
use crate::config::RunnerConfig;
use crate::environment::{Environment, WRAPPER_SERVER_IMAGE};
use crate::evaluators::{self, PreparedEvaluators};
use crate::images::NamespaceProbe;
use crate::pods;
use crate::started_pods::{ShutDown, StartedPods};
use crate::status::{self, ConfiguredLimits, StatusCollector, StatusListener};
use crate::telemetry;
use crate::workers;

/// Time limit for sending the last traces.
const TRACE_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit for releasing pods at shutdown.
const POD_RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// What follows the calls of a runner.
pub struct CallObservers {
    pub observer: Arc<dyn Observer>,
    /// The calls that the status page shows, which the observer keeps. There is no page without it.
    pub history: Option<Arc<CallHistory>>,
}

/// A runner whose port is bound.
pub struct FunctionRunner {
    server: Server,
    status_page: Option<PageServer>,
    shut_down_pods: Option<ShutDown>,
    signals: JoinHandle<()>,
    namespace_probe: Option<NamespaceProbe>,
}

/// Makes a runner. Finds every error before the port is bound. Calls `start_pods` if pods are enabled.
pub async fn prepare(
    config: &RunnerConfig,
    environment: &Environment,
    observers: CallObservers,
    start_pods: impl AsyncFnOnce() -> Result<StartedPods>,
) -> Result<FunctionRunner> {
    // First, because workers start while everything else is prepared.
    let workers = workers::start(config, environment)?;
    let PreparedEvaluators {
        mut chain,
        sandbox,
        namespace_probe,
    } = evaluators::prepare(config, environment)?;
    let tls = config.tls.clone().map(Tls::load).transpose()?;
    let token = config.token_file.clone().map(BearerToken::load).transpose();
    let token = token.context("read the token file")?.map(Arc::new);
    if tls.is_none() {
        tracing::warn!(
            "no TLS: every client that reaches this port can read lists and run functions; \
             --tls-cert and --tls-key enable TLS, --require-tls enforces it"
        );
    }
    // Last, because it takes longest, and pods may be started.
    let mut usable = None;
    let mut shut_down_pods = None;
    let mut pods_source = None;
    if config.evaluators.pod {
        ensure!(
            config.pods.wrapper_server_image.is_some(),
            "environment variable {WRAPPER_SERVER_IMAGE} must be set to use pod function evaluator runtime; \
             --disable-runtimes=pod disables it"
        );
        let pods = start_pods().await?;
        // Local functions can run whatever happens to the cluster.
        usable = chain.exec.is_none().then_some(pods.usable);
        chain.pods = Some(pods.evaluator);
        chain.function_configs = Some(pods.function_configs);
        shut_down_pods = Some(pods.shut_down);
        pods_source = Some(pods.status);
    }
    chain.answers = answers::open(config, Arc::clone(&observers.observer));
    let evaluators = chain.chain();
    let options = Options {
        max_message_size: config.max_message_size,
        max_held_bytes: config.max_held_bytes,
        connections: config.connections,
        admission: config.admission,
        evaluation_timeout: config.evaluation_timeout,
        drain_timeout: config.drain_timeout,
        tls: tls.map(Arc::new),
        token: token.clone(),
        observer: observers.observer,
        workers,
        words: Words::Runner,
        usable,
    };
    let names: Vec<String> = evaluators.names().map(str::to_owned).collect();
    // Before the port of calls, because it may be in use.
    let listener = match (config.status, &observers.history) {
        (Some(status), Some(_)) => StatusListener::bind(status)?,
        _ => None,
    };
    let signals = StopSignals::listen().context("listen for signals")?;
    let server = match config.address {
        Some(address) => Server::bind((address, config.port).into(), evaluators, options).await?,
        None => Server::bind_all(config.port, evaluators, options).await?,
    };
    let status_page = match (listener, observers.history) {
        (Some(listener), Some(history)) => {
            let collector = StatusCollector {
                program: config.flavour.program(),
                address: server.address().to_string(),
                evaluators: names.clone(),
                sandbox,
                settings: status::settings(config),
                limits: ConfiguredLimits::of(config),
                history,
                monitor: server.monitor(),
                pods: pods_source,
            };
            Some(listener.serve(collector, token)?)
        }
        _ => None,
    };
    let signals = tokio::spawn(signals.stop(server.stop()));
    tracing::info!(
        address = %server.address(),
        evaluators = names.join(", "),
        max_message_size = config.max_message_size,
        max_processes = config.admission.processes,
        "function runner is listening"
    );
    Ok(FunctionRunner {
        server,
        status_page,
        shut_down_pods,
        signals,
        namespace_probe,
    })
}

impl FunctionRunner {
    /// The address with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The address of the status page, if there is one.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status_page.as_ref().map(PageServer::address)
    }

    /// Stops the runner, in addition to signals.
    pub fn stop(&self) -> StopHandle {
        self.server.stop()
    }

    /// Serves until it is stopped.
    pub async fn run(self) {
        self.server.run().await;
        if let Some(shut_down) = self.shut_down_pods {
            shut_down(POD_RELEASE_TIMEOUT).await;
        }
        self.signals.abort();
        drop(self.status_page);
        drop(self.namespace_probe);
        tracing::info!("function runner has ended");
    }
}

/// Makes a runner and serves until a signal stops it.
pub fn serve(config: &RunnerConfig, environment: &Environment) -> Result<()> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // As many as may run, and cancelled ones that are about to end.
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
        let history = config.status.map(|status| {
            Arc::new(CallHistory::new(match status.shows_messages {
                true => FailureMessages::Keep,
                false => FailureMessages::Drop,
            }))
        });
        let observers = CallObservers {
            observer: telemetry.observer(history.clone()),
            history,
        };
        let runner = prepare(config, environment, observers, start_pods).await?;
        runner.run().await;
        telemetry.shutdown(TRACE_FLUSH_TIMEOUT).await;
        Ok(())
    });
    // A native function that ignores cancellation must not delay the exit.
    runtime.shutdown_background();
    kiln_runtime::process::kill_running();
    served
}
