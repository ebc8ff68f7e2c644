//! Resource usage of this process.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Returns the CPU time of all threads since the start of the process.
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64()
}

/// Returns the resident memory, or 0 if /proc does not provide it.
pub fn rss_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

pub fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// Returns the Unix time of a past moment, rounded down. A difference of two such values can be too
/// long, but not too short.
pub fn unix_millis_of(moment: Instant) -> u64 {
    // Read the wall clock first: an interruption between the two readings then makes the result
    // earlier, not later.
    let now = unix_millis();
    now.saturating_sub(moment.elapsed().as_nanos().div_ceil(1_000_000) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_past_moment_is_never_too_late() {
        for micros in (10..2_500).step_by(70) {
            let moment = Instant::now();
            let then = unix_millis();
            while moment.elapsed() < Duration::from_micros(micros) {
                std::hint::spin_loop();
            }
            assert!(unix_millis_of(moment) <= then, "{micros} us later");
        }
    }
}
