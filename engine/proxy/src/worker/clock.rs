//! The time of a worker: microseconds since it started, of the machine, or in simulations of their own.

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

    /// One that others move on; each look takes a microsecond.
    #[cfg(test)]
    pub fn simulated(micros: std::sync::Arc<std::sync::atomic::AtomicU64>) -> Self {
        Self { started: Instant::now(), simulated: Some(micros) }
    }

    /// Never 0.
    #[inline]
    pub fn micros(&self) -> u64 {
        #[cfg(test)]
        if let Some(micros) = &self.simulated {
            return micros.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        }
        self.started.elapsed().as_micros() as u64 + 1
    }

    /// The moment that `micros` told.
    pub fn at(&self, micros: u64) -> Instant {
        self.started + Duration::from_micros(micros.saturating_sub(1))
    }
}
