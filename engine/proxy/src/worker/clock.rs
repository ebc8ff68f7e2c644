//! The clock of a worker: microseconds since its start, from the system or from a simulation.

use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Clock {
    started: Instant,
    #[cfg(test)]
    simulated: Option<std::sync::Arc<std::sync::atomic::AtomicU64>>,
}

impl Clock {
    pub fn new(started: Instant) -> Self {
        Self {
            started,
            #[cfg(test)]
            simulated: None,
        }
    }

    /// Creates a clock that the simulation advances. Each reading takes one microsecond.
    #[cfg(test)]
    pub fn simulated(micros: std::sync::Arc<std::sync::atomic::AtomicU64>) -> Self {
        Self { started: Instant::now(), simulated: Some(micros) }
    }

    /// Returns microseconds, never 0.
    #[inline]
    pub fn micros(&self) -> u64 {
        #[cfg(test)]
        if let Some(micros) = &self.simulated {
            return micros.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        }
        self.started.elapsed().as_micros() as u64 + 1
    }

    /// Returns the moment for a value of `micros`.
    pub fn at(&self, micros: u64) -> Instant {
        self.started + Duration::from_micros(micros.saturating_sub(1))
    }
}
