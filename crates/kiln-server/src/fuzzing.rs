//! Internals for fuzz targets: connections without a network, and responses of workers.
//!
//! Not part of the interface of this crate.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;

use kiln_runtime::EvaluatorChain;
use tokio::io::{AsyncRead, DuplexStream, duplex};

use crate::connection;
use crate::options::Options;
use crate::server::ServerState;
use crate::workers;

/// Size of the buffer in each direction.
const PIPE: usize = 64 * 1024;

/// A server without a port.
pub struct MemoryServer {
    state: ServerState,
}

impl MemoryServer {
    /// Serves on the async runtime that calls [`MemoryServer::connect`].
    pub fn new(evaluators: EvaluatorChain, options: Options) -> MemoryServer {
        MemoryServer {
            state: ServerState::new(evaluators, options),
        }
    }

    pub fn connect(&self) -> DuplexStream {
        let (client, server) = duplex(PIPE);
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let registered = self.state.connections.register(peer);
        let acceptor = self.state.acceptor.clone();
        tokio::spawn(async move {
            // The client sees how the connection ends.
            let _ = connection::serve_without_tls(server, &acceptor, &registered).await;
        });
        client
    }
}

/// Receives the responses of a worker, each with a list of at most `max_body` bytes, and makes answers to calls of
/// them. Returns how many there were, and why there are no more.
pub async fn receive_from_worker(from: impl AsyncRead, max_body: usize) -> (usize, io::Error) {
    workers::answer_all(pin!(from), max_body).await
}
