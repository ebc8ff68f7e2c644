//! Statistics of one client over the complete run, as the published guide to memory drives reports
//! them: operations, maximum latency, maximum average, and a histogram up to one second.

use crate::options::Options;
use crate::tally::micros;
use hdrhistogram::Histogram;

/// The histograms of this number of clients are kept, and its slowest clients are reported, so that
/// memory and the report have a limit.
pub const MAX_CLIENTS: usize = 256;
/// Latencies from one second on are counted in this bucket.
pub const LAST_BUCKET: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub struct ClientStatistics {
    pub ops: u64,
    /// Microseconds.
    pub max: u64,
    /// Highest value of the average in nanoseconds, which is computed after each operation.
    pub max_average: f64,
    sum: f64,
    /// Microseconds, exact up to 2 ms and with three digits above.
    pub histogram: Option<Histogram<u32>>,
}

impl ClientStatistics {
    pub fn new(options: &Options) -> Self {
        let histogram = (options.all_clients() <= MAX_CLIENTS)
            .then(|| Histogram::new(3).expect("three significant digits are allowed"));
        Self { ops: 0, max: 0, max_average: 0.0, sum: 0.0, histogram }
    }

    #[inline]
    pub fn record(&mut self, nanos: u64) {
        let micros = micros(nanos);
        self.ops += 1;
        self.sum += nanos as f64;
        self.max = self.max.max(micros);
        if self.sum > self.max_average * self.ops as f64 {
            self.max_average = self.average();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.record(micros.min(LAST_BUCKET)).expect("a histogram that grows holds any value");
        }
    }

    /// Returns nanoseconds, 0 without an operation.
    pub fn average(&self) -> f64 {
        self.sum / self.ops.max(1) as f64
    }

    pub fn add(&mut self, other: &Self) {
        self.ops += other.ops;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.max_average = self.max_average.max(other.max_average);
        if let (Some(mine), Some(theirs)) = (&mut self.histogram, &other.histogram) {
            mine.add(theirs).expect("a histogram that grows holds any other");
        }
    }
}

/// Returns the clients to report with their numbers: all, or the slowest of many.
pub fn listed(clients: &[ClientStatistics]) -> Vec<(usize, &ClientStatistics)> {
    let mut listed: Vec<(usize, &ClientStatistics)> = clients.iter().enumerate().collect();
    if listed.len() > MAX_CLIENTS {
        listed.sort_by_key(|(_, client)| std::cmp::Reverse(client.max));
        listed.truncate(MAX_CLIENTS);
        listed.sort_by_key(|(number, _)| *number);
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_average_is_that_of_the_slow_start() {
        let mut client = ClientStatistics::new(&Options::default());
        for nanos in [4_000_000, 2_000_000, 1_000, 2_000_000_000, 1_000] {
            client.record(nanos);
        }
        assert_eq!((client.ops, client.max), (5, 2_000_000));
        assert_eq!(client.max_average, 2_006_001_000.0 / 4.0, "after the fourth operation");
        let histogram = client.histogram.as_ref().expect("200 clients have histograms");
        assert_eq!((histogram.count_at(1), histogram.count_at(LAST_BUCKET)), (2, 1));
        assert_eq!(histogram.max() / 1_000, 1_000, "the last bucket is one second");
    }

    #[test]
    fn the_slowest_of_many_clients_are_listed_in_their_order() {
        let options = Options { clients: 300, threads: 1, ..Options::default() };
        let mut clients = vec![ClientStatistics::new(&options); 300];
        clients.iter_mut().enumerate().for_each(|(number, client)| client.record(number as u64 * 1_000_000));
        let numbers: Vec<usize> = listed(&clients).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (44..300).collect::<Vec<_>>());
        assert!(clients[0].histogram.is_none());
    }
}
