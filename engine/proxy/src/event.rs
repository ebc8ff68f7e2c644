//! Events for the main thread, from agents and workers.

use crate::control::Report;
use crate::outage::OutageObservation;
use crate::worker::types::message::Listing;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// An event for the main thread.
pub enum Event {
    Connected {
        agent: u64,
        stream: UnixStream,
    },
    LineReceived {
        agent: u64,
        line: String,
    },
    Disconnected {
        agent: u64,
    },
    Report(Report),
    /// A worker has lost a shard, or reached it again.
    Outage(OutageObservation),
    /// A client has requested the list of all clients.
    List(Arc<Listing>),
    Terminate,
}
