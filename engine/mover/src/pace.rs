//! Limits the rate at which a source is read.

use std::io::Read;
use std::time::{Duration, Instant};

/// Unused capacity is kept for this long.
const BURST: Duration = Duration::from_millis(100);
/// Bytes of one read at least, so that a low rate does not cause many small reads.
const MIN_READ: u64 = 4096;

/// Computes how long to wait after a number of bytes.
#[derive(Debug)]
pub struct Bucket {
    bytes_per_second: u64,
    /// Time at which everything that was taken so far has been paid for.
    paid: Instant,
}

impl Bucket {
    pub fn new(bytes_per_second: u64, now: Instant) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), paid: now }
    }

    /// Largest number of bytes to take at once.
    pub fn share(&self) -> usize {
        (self.bytes_per_second / 20).max(MIN_READ) as usize
    }

    pub fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let oldest = now.checked_sub(BURST).unwrap_or(now);
        self.paid =
            self.paid.max(oldest) + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        self.paid.saturating_duration_since(now)
    }
}

/// A reader with a limited rate.
pub struct Paced<R> {
    source: R,
    bucket: Option<Bucket>,
}

impl<R> Paced<R> {
    pub fn new(source: R, bytes_per_second: Option<u64>) -> Self {
        Self { source, bucket: bytes_per_second.map(|rate| Bucket::new(rate, Instant::now())) }
    }
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(bucket) = &mut self.bucket else { return self.source.read(buffer) };
        let some = buffer.len().min(bucket.share());
        let read = self.source.read(&mut buffer[..some])?;
        std::thread::sleep(bucket.take(read, Instant::now()));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_limited_and_pauses_are_not_made_up_for() {
        let start = Instant::now();
        let mut bucket = Bucket::new(1000, start);
        assert_eq!(bucket.take(500, start), Duration::from_millis(500));
        assert_eq!(bucket.take(500, start + Duration::from_millis(500)), Duration::from_millis(500));
        let later = start + Duration::from_secs(60);
        assert_eq!(bucket.take(1000, later), Duration::from_millis(900));
        assert_eq!(Bucket::new(0, start).take(1, start), Duration::from_secs(1));
    }
}
