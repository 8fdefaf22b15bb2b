//! What fuzz targets need of the inside of a server: connections without a network, and what workers send.
//!
//! No part of the interface of this crate.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;

use kiln_runtime::EvaluatorChain;
use tokio::io::{AsyncRead, DuplexStream, duplex};

use crate::connection;
use crate::options::Options;
use crate::server::ServerState;
use crate::workers;

/// How many bytes may be on their way in memory, in each direction.
const PIPE: usize = 64 * 1024;

/// A server without a port.
pub struct MemoryServer {
    state: ServerState,
}

impl MemoryServer {
    /// A server that serves on the async runtime that [`MemoryServer::connect`] is called on.
    pub fn new(evaluators: EvaluatorChain, options: Options) -> MemoryServer {
        MemoryServer {
            state: ServerState::new(evaluators, options),
        }
    }

    /// A new connection.
    pub fn connect(&self) -> DuplexStream {
        let (client, server) = duplex(PIPE);
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let registered = self.state.connections.register(peer);
        let acceptor = self.state.acceptor.clone();
        tokio::spawn(async move {
            // How a connection ends is for its client to see.
            let _ = connection::serve_without_tls(server, &acceptor, &registered).await;
        });
        client
    }
}

/// Receives the responses that a worker sends, each with a list of at most `max_body` bytes, and makes answers to calls of
/// them. Returns how many there were, and why there are no more.
pub async fn receive_from_worker(from: impl AsyncRead, max_body: usize) -> (usize, io::Error) {
    workers::answer_all(pin!(from), max_body).await
}
