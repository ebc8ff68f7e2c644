//! Counts a client as a connection of its database and of its worker. The count ends when the value
//! is dropped, even by a worker that fails.

use crate::stats::Connections;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
pub struct ConnectionCount {
    connections: Arc<Connections>,
    clients: Arc<AtomicU32>,
}

impl ConnectionCount {
    /// Counts a client that was just accepted. `worker` is the number of clients of its worker.
    pub fn take(connections: &Arc<Connections>, worker: &Arc<AtomicU32>) -> Self {
        connections.total.fetch_add(1, Ordering::Relaxed);
        connections.now.fetch_add(1, Ordering::Relaxed);
        worker.fetch_add(1, Ordering::Relaxed);
        Self { connections: Arc::clone(connections), clients: Arc::clone(worker) }
    }

    /// Moves the client to another worker.
    pub fn move_to(&mut self, worker: &Arc<AtomicU32>) {
        worker.fetch_add(1, Ordering::Relaxed);
        let left = std::mem::replace(&mut self.clients, Arc::clone(worker));
        left.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
        self.connections.now.fetch_sub(1, Ordering::Relaxed);
    }
}
