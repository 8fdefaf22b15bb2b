//! What can be read about a server while it runs, for its status page.

use std::sync::Arc;

use tokio::sync::watch;

use crate::connections::Connections;
use crate::lifecycle::{Lifecycle, Phase};
use crate::memory::MemoryPools;

/// Reads the state of a server. Clones read the same server.
#[derive(Clone, Debug)]
pub struct ServerMonitor {
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) can_evaluate: watch::Receiver<bool>,
    pub(crate) memory_pools: Arc<MemoryPools>,
    pub(crate) connections: Arc<Connections>,
}

impl ServerMonitor {
    /// Whether the server takes no more calls.
    pub fn is_draining(&self) -> bool {
        self.lifecycle.phase() != Phase::Serving
    }

    /// Whether functions can be run.
    pub fn can_evaluate(&self) -> bool {
        *self.can_evaluate.borrow()
    }

    /// The bytes of requests and responses in memory.
    pub fn held_bytes(&self) -> usize {
        self.memory_pools.messages()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.connections.count()
    }
}
