//! Sockets and time of a worker.

use crate::poll::Poll;
use crate::resources;
use crate::worker::clock::Clock;

pub struct Io {
    /// Time of the last reading of the clock: microseconds since the worker started, never 0.
    pub now: u64,
    pub poll: Poll,
    pub clock: Clock,
}

impl Io {
    pub fn new(poll: Poll, clock: Clock) -> Self {
        Self { now: 1, poll, clock }
    }

    /// Reads the clock.
    #[inline]
    pub fn clock(&mut self) -> u64 {
        self.now = self.clock.micros();
        self.now
    }

    /// Converts a time of this worker's clock. It does not use `now`, which may be outdated on a
    /// busy machine.
    pub fn unix_millis(&self, at: u64) -> u64 {
        resources::unix_millis_of(self.clock.at(at))
    }
}
