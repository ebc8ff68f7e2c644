//! Times of a worker's periodic work, and its end.

use crate::worker::types::message::Handle;
use std::time::Duration;

/// Interval of the ticks in microseconds.
pub const TICK: u64 = 20_000;
/// Maximum number of rounds that requests wait for further requests to the same shard.
const GATHERED: u32 = 8;
/// Time in microseconds that a draining worker waits for clients with pending requests.
const DRAIN: u64 = 30_000_000;

pub struct Schedule {
    next_tick: u64,
    /// Number of rounds since requests were last sent to shards.
    gathered: u32,
    /// Time at which idle clients are closed because the worker ends.
    draining: Option<u64>,
    /// The workers that take over all clients because the worker ends.
    pub retiring: Option<Vec<Handle>>,
}

impl Schedule {
    pub fn new() -> Self {
        Self { next_tick: TICK, gathered: 0, draining: None, retiring: None }
    }

    /// Returns the schedule of the replacement of a failed worker.
    pub fn replaced(self, now: u64) -> Self {
        Self { next_tick: now + TICK, gathered: 0, ..self }
    }

    pub fn until_tick(&self, now: u64) -> Duration {
        Duration::from_micros(self.next_tick.saturating_sub(now))
    }

    pub fn is_tick_due(&self, now: u64) -> bool {
        now >= self.next_tick
    }

    pub fn start_tick(&mut self, now: u64) {
        self.next_tick = now + TICK;
    }

    /// Whether requests are sent now: when no other socket is ready, or after a few rounds, because
    /// waking a shard costs as much for one request as for ten. An idle worker only makes one
    /// additional poll, which takes a fraction of a microsecond.
    pub fn sends_gathered(&mut self, is_idle: bool) -> bool {
        self.gathered += 1;
        let sends = is_idle || self.gathered > GATHERED;
        if sends {
            self.gathered = 0;
        }
        sends
    }

    /// Closes idle clients at this time, or earlier if that was requested before.
    pub fn drain(&mut self, until: u64) {
        self.draining = Some(self.draining.map_or(until, |at| at.min(until)));
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_some()
    }

    /// Whether idle clients are closed now.
    pub fn closes_idle(&self, now: u64) -> bool {
        self.draining.is_some_and(|at| at <= now)
    }

    /// Whether the worker ends.
    pub fn is_done(&self, now: u64, has_clients: bool) -> bool {
        self.retiring.is_some() && !has_clients
            || self.draining.is_some_and(|at| !has_clients || now > at + DRAIN)
    }
}
