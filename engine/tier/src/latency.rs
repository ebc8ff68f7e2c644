//! Durations of reads from flash: counts in power-of-two buckets, and their percentiles.

use std::time::Duration;

pub struct Latency([u64; 40]);

impl Default for Latency {
    fn default() -> Self {
        Self([0; 40])
    }
}

impl Latency {
    pub fn add(&mut self, time: Duration) {
        let bucket = (u64::BITS - (time.as_micros() as u64).leading_zeros()) as usize;
        self.0[bucket.min(39)] += 1;
    }

    /// Returns a percentile in µs, as the upper bound of its bucket; 0 without any reads.
    pub fn percentile(&self, percent: u64) -> u64 {
        let total: u64 = self.0.iter().sum();
        let mut seen = 0;
        for (bucket, count) in self.0.iter().enumerate() {
            seen += count;
            if total > 0 && seen * 100 >= total * percent {
                return 1 << bucket;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds_of_buckets() {
        let mut latency = Latency::default();
        assert_eq!(latency.percentile(50), 0);
        for _ in 0..98 {
            latency.add(Duration::from_micros(3));
        }
        latency.add(Duration::from_micros(1000));
        latency.add(Duration::from_micros(1000));
        assert_eq!((latency.percentile(50), latency.percentile(99)), (4, 1024));
    }
}
