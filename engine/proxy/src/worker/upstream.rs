//! Everything about shards: databases with their topology, connections, waiting requests and outages.
//!
//! Files that define a type contain state. The others contain behavior, and no file imports them.

pub mod backend;
pub mod backends;
mod canaries;
pub mod canary;
mod connect;
pub mod databases;
pub mod db;
pub mod identity;
pub mod outage;
mod outages;
pub mod parked_requests;
mod parking;
mod pool;
mod redirection;

use crate::topology::TargetNumber;
use crate::worker::io::Io;
use crate::worker::reports::Reports;
use crate::worker::types::request::FollowUp;
use backends::Backends;
use databases::Databases;
use resp::slot::SLOTS;

/// The part of a worker that handles requests. It receives the client of a request as an argument,
/// and does not know the other clients.
pub struct Upstream {
    pub io: Io,
    pub backends: Backends,
    pub dbs: Databases,
    pub reports: Reports,
    /// The process whose replies are being handled.
    pub answering: TargetNumber,
    /// Requests that are sent when its replies have been handled.
    pub follow_ups: Vec<FollowUp>,
    /// For each slot, the part of the last request that was split.
    pub part_by_slot: Vec<u16>,
}

impl Upstream {
    pub fn new(io: Io, reports: Reports) -> Self {
        Self {
            io,
            backends: Backends::default(),
            dbs: Databases::default(),
            reports,
            answering: 0,
            follow_ups: Vec::new(),
            part_by_slot: vec![0; usize::from(SLOTS)],
        }
    }
}
