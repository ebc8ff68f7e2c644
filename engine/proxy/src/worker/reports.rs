//! Reports of a worker: events for the agent, counters, and memory.

use crate::budget::{Budget, DatabaseMemory};
use crate::control::Report;
use crate::event::Event;
use crate::outage::{Outage, OutageObservation};
use crate::worker::types::message::{Counts, Listing};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Sending fails only while the process is ending.
pub struct Reports {
    /// Number of the worker.
    pub number: usize,
    /// Channel to the main thread, which communicates with the agents.
    pub events: Sender<Event>,
    pub counts: Sender<Counts>,
    pub budget: Arc<Budget>,
}

impl Reports {
    pub fn send_counts(&self, counts: Counts) {
        let _ = self.counts.send(counts);
    }

    pub fn report_outage(&self, outage: Outage) {
        let _ = self.events.send(Event::Outage(OutageObservation { worker: self.number, outage }));
    }

    /// Reports the owner of a slot that a shard has named.
    pub fn report_owner(&self, uid: u64, slot: u16, address: SocketAddr) {
        let (address, port) = (address.ip().to_string(), address.port());
        let _ = self.events.send(Event::Report(Report::Topology { uid, slot, address, port }));
    }

    /// Requests that all workers add their clients to the list.
    pub fn request_list(&self, listing: Listing) {
        let _ = self.events.send(Event::List(Arc::new(listing)));
    }

    pub fn report_memory(&self, database: &DatabaseMemory, change: i64) {
        self.budget.add(database, change);
    }
}
