//! A port and its connections, from bind to shutdown.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kiln_runtime::EvaluatorChain;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connection::{self, Acceptor};
use crate::connections::Connections;
use crate::health::HealthService;
use crate::lifecycle::{Lifecycle, Phase, StopHandle};
use crate::monitor::ServerMonitor;
use crate::options::Options;
use crate::router::Router;
use crate::service::Service;

/// Delay before the next accept when descriptors are used up.
const NEXT_ACCEPT: Duration = Duration::from_millis(50);

/// Time for connections to send their last bytes when all calls have ended.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// A server that is bound to its port.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    state: ServerState,
    drain_timeout: Duration,
}

/// The state of a server without its port.
pub(crate) struct ServerState {
    pub(crate) acceptor: Acceptor,
    pub(crate) connections: Arc<Connections>,
    can_evaluate: watch::Receiver<bool>,
}

impl ServerState {
    pub(crate) fn new(evaluators: EvaluatorChain, options: Options) -> ServerState {
        let lifecycle = Lifecycle::new();
        let can_evaluate = usable(&evaluators, &options);
        let health = HealthService::new(Arc::clone(&lifecycle), can_evaluate.clone());
        let service = Service::new(evaluators, &options, Arc::clone(&lifecycle));
        let connections = Connections::new(options.connections.max.get());
        let router = Router::new(
            Arc::new(service),
            health,
            &options,
            Arc::clone(&connections),
        );
        ServerState {
            acceptor: Acceptor {
                tls: options.tls,
                router: Arc::new(router),
                lifecycle,
                idle_timeout: options.connections.idle_timeout,
            },
            connections,
            can_evaluate,
        }
    }

    fn lifecycle(&self) -> &Arc<Lifecycle> {
        &self.acceptor.lifecycle
    }
}

/// Why a port cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("listen on {address}")]
pub struct BindError {
    address: SocketAddr,
    source: io::Error,
}

impl BindError {
    /// Whether the port itself was refused, so that another address would be refused too or would serve fewer clients
    /// than it should.
    fn is_about_the_port(&self) -> bool {
        let kind = self.source.kind();
        matches!(kind, ErrorKind::AddrInUse | ErrorKind::PermissionDenied)
    }
}

/// A listener, and its address with the port that the system chose for port 0.
async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let refused = |source| BindError { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let local = listener.local_addr().map_err(refused)?;
    Ok((listener, local))
}

impl Server {
    /// Binds to an address. Connections are queued from now on, and served by [`Server::run`].
    pub async fn bind(
        address: SocketAddr,
        evaluators: EvaluatorChain,
        options: Options,
    ) -> Result<Server, BindError> {
        Ok(Server::new(listen(address).await?, evaluators, options))
    }

    /// Binds to a port of all addresses, like [`Server::bind`]: the address `::`, which accepts IPv4 too, or `0.0.0.0` on a
    /// machine without IPv6.
    pub async fn bind_all(
        port: u16,
        evaluators: EvaluatorChain,
        options: Options,
    ) -> Result<Server, BindError> {
        let bound = match listen(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
            Err(error) if !error.is_about_the_port() => {
                listen(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await
            }
            bound => bound,
        };
        Ok(Server::new(bound?, evaluators, options))
    }

    fn new(
        (listener, address): (TcpListener, SocketAddr),
        evaluators: EvaluatorChain,
        options: Options,
    ) -> Server {
        let drain_timeout = options.drain_timeout;
        Server {
            listener,
            address,
            state: ServerState::new(evaluators, options),
            drain_timeout,
        }
    }

    /// The address with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The handle that stops the server.
    pub fn stop(&self) -> StopHandle {
        self.state.lifecycle().stop()
    }

    /// Reads the state of the server while it runs.
    pub fn monitor(&self) -> ServerMonitor {
        ServerMonitor {
            lifecycle: Arc::clone(self.state.lifecycle()),
            can_evaluate: self.state.can_evaluate.clone(),
            memory_pools: Arc::clone(self.state.acceptor.router.memory_pools()),
            connections: Arc::clone(&self.state.connections),
        }
    }

    /// Serves until it is stopped and all calls have ended. Probes are answered to the end.
    pub async fn run(self) {
        let mut connections = JoinSet::new();
        let mut over = std::pin::pin!(wait_for_end(
            Arc::clone(self.state.lifecycle()),
            self.drain_timeout
        ));
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        connections.spawn(self.serve(stream, peer));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        // Probably out of descriptors.
                        self.state.connections.make_room();
                        sleep(NEXT_ACCEPT).await;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                () = &mut over => break,
            }
        }
        drop(self.listener);
        self.state.lifecycle().advance(Phase::Finishing);
        let last_bytes = async { while connections.join_next().await.is_some() {} };
        // Clients that neither read nor disconnect are disconnected.
        let _ = timeout(LAST_BYTES, last_bytes).await;
        self.state.lifecycle().advance(Phase::Ended);
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr) -> impl Future<Output = ()> + use<> {
        let registered = self.state.connections.register(peer.ip());
        let served = connection::serve(stream, self.state.acceptor.clone(), registered);
        async move {
            if let Err(error) = served.await {
                let source = std::error::Error::source(&error);
                let source = source.map(ToString::to_string);
                tracing::debug!(%peer, %error, source, "connection ended");
            }
        }
    }
}

/// Whether functions can be run. A server that has lost its workers cannot: other replicas should get its calls.
fn usable(evaluators: &EvaluatorChain, options: &Options) -> watch::Receiver<bool> {
    match (&options.workers, &options.usable) {
        (Some(workers), _) => workers.usable(),
        (None, Some(usable)) => usable.clone(),
        (None, None) => watch::Sender::new(evaluators.names().next().is_some()).subscribe(),
    }
}

/// Waits until the server is stopped and has shut down.
async fn wait_for_end(lifecycle: Arc<Lifecycle>, drain_timeout: Duration) {
    lifecycle.reached(Phase::Draining).await;
    tokio::select! {
        () = lifecycle.idle() => return,
        () = lifecycle.reached(Phase::Cancelling) => {}
        () = sleep(drain_timeout) => {
            tracing::warn!(
                seconds = drain_timeout.as_secs_f64(),
                "calls still run after the drain timeout and are cancelled"
            );
            lifecycle.advance(Phase::Cancelling);
        }
    }
    lifecycle.idle().await;
}
