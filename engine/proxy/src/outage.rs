//! Outages of shards, as workers observe them and as agents receive them.

use serde::Serialize;

/// Times are Unix times in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Outage {
    pub uid: u64,
    /// Address of the lost primary.
    pub address: String,
    pub port: u16,
    /// Inclusive ranges of slots that it served.
    pub slots: Vec<(u16, u16)>,
    /// Time of the last reply to a request. Null: it never replied.
    pub last_success_ms: Option<u64>,
    /// Time when a connection was lost or refused, or when the shard rejected a request. Identifies
    /// the outage together with `uid`, `address` and `port`.
    pub noticed_ms: u64,
    /// Time of the first reply of the shard or its promoted replica after that. Null: the outage
    /// continues.
    pub first_success_ms: Option<u64>,
    /// Requests that waited for a primary during the outage, whether they succeeded or not.
    pub waited: u64,
    /// Requests of these that were answered with an error without having been executed.
    pub failed: u64,
    /// Requests sent to the shard without a reply: it is unknown whether they were executed.
    pub lost: u64,
    /// Whether the proxy sent canary writes before and after, so that the times are valid even
    /// without requests of clients.
    pub watched: bool,
}

/// Observation of one worker.
#[derive(Debug, Clone)]
pub struct OutageObservation {
    pub worker: usize,
    pub outage: Outage,
}
