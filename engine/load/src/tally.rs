//! Counters of one thread in one second, and their sums. Plain numbers: nothing is shared while
//! counting.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Longer latencies are recorded as this value.
const MAX_MICROS: u64 = 3_600_000_000;
/// More than any engine has. Further kinds of errors are counted together.
const MAX_KINDS: usize = 64;
/// Number of keys with a wrong value that are reported.
const MAX_MISMATCHED_KEYS: usize = 5;

pub fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are allowed")
}

/// Rounds, so that the error is at most half a microsecond.
#[inline]
pub fn micros(nanos: u64) -> u64 {
    ((nanos + 500) / 1_000).clamp(1, MAX_MICROS)
}

/// One line of the report.
#[derive(Debug, Clone)]
pub struct Row {
    pub good: u64,
    pub hits: u64,
    pub misses: u64,
    pub moved: u64,
    pub ask: u64,
    pub errors: u64,
    pub received: u64,
    pub sent: u64,
    /// Microseconds from writing the request until its reply was read.
    pub service: Histogram<u64>,
    /// Microseconds from the time at which the request was due. Recorded only with a schedule.
    pub response: Histogram<u64>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            good: 0,
            hits: 0,
            misses: 0,
            moved: 0,
            ask: 0,
            errors: 0,
            received: 0,
            sent: 0,
            service: histogram(),
            response: histogram(),
        }
    }
}

impl Row {
    #[inline]
    pub fn record(histogram: &mut Histogram<u64>, nanos: u64) {
        histogram.record(micros(nanos)).expect("a histogram that grows holds any value");
    }

    pub fn add(&mut self, other: &Self) {
        self.good += other.good;
        self.hits += other.hits;
        self.misses += other.misses;
        self.moved += other.moved;
        self.ask += other.ask;
        self.errors += other.errors;
        self.received += other.received;
        self.sent += other.sent;
        self.service.add(&other.service).expect("a histogram that grows holds any other");
        self.response.add(&other.response).expect("a histogram that grows holds any other");
    }

    /// Returns the reported latency: with a schedule, the one from the time at which requests were
    /// due.
    pub fn latency(&self) -> &Histogram<u64> {
        if self.response.is_empty() { &self.service } else { &self.response }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub rows: Vec<Row>,
    /// Failed requests, by type.
    pub errors: BTreeMap<String, u64>,
    /// The first keys with a wrong value.
    pub mismatched_keys: Vec<String>,
    /// Connections that could not be opened or were lost.
    pub connection_errors: u64,
    /// Requests sent again after a failure.
    pub retried: u64,
    /// Keys that were skipped because their shard was unavailable and its queue was full.
    pub skipped: u64,
    pub in_flight: u64,
    /// Maximum delay between the time at which a request was due and the time at which it was
    /// written.
    pub lag_micros: Option<u64>,
    pub cpu_seconds: f64,
}

impl Tally {
    pub fn new(rows: usize) -> Self {
        Self { rows: vec![Row::default(); rows], ..Self::default() }
    }

    pub fn failed(&mut self, kind: &str, count: u64) {
        if count == 0 {
            return;
        }
        if let Some(known) = self.errors.get_mut(kind) {
            *known += count;
            return;
        }
        let kind = if self.errors.len() < MAX_KINDS { kind } else { "OTHER" };
        *self.errors.entry(kind.into()).or_default() += count;
    }

    /// Counts a value that differs from the one derived from its key.
    pub fn mismatched(&mut self, key: &[u8]) {
        self.failed("mismatch", 1);
        self.list_mismatched(&String::from_utf8_lossy(key));
    }

    /// A key can be read many times.
    fn list_mismatched(&mut self, key: &str) {
        if self.mismatched_keys.len() < MAX_MISMATCHED_KEYS
            && !self.mismatched_keys.iter().any(|known| known == key)
        {
            self.mismatched_keys.push(key.into());
        }
    }

    pub fn add(&mut self, other: &Self) {
        other.mismatched_keys.iter().for_each(|key| self.list_mismatched(key));
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            mine.add(theirs);
        }
        for (kind, count) in &other.errors {
            self.failed(kind, *count);
        }
        self.connection_errors += other.connection_errors;
        self.retried += other.retried;
        self.skipped += other.skipped;
        self.in_flight = other.in_flight;
        self.lag_micros = self.lag_micros.max(other.lag_micros);
        self.cpu_seconds += other.cpu_seconds;
    }

    pub fn total(&self) -> Row {
        let mut total = Row::default();
        self.rows.iter().for_each(|row| total.add(row));
        total
    }

    pub fn all_errors(&self) -> u64 {
        self.errors.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_keys_with_a_wrong_value_are_listed_once() {
        let mut total = Tally::default();
        for keys in [["a", "b", "a", "b"], ["b", "c", "d", "e"], ["f", "g", "a", "h"]] {
            let mut second = Tally::default();
            keys.iter().for_each(|key| second.mismatched(key.as_bytes()));
            total.add(&second);
        }
        assert_eq!(total.mismatched_keys, ["a", "b", "c", "d", "e"]);
        assert_eq!(total.errors["mismatch"], 12);
    }

    #[test]
    fn latencies_keep_three_digits_from_a_microsecond() {
        for micros in [1u64, 17, 999, 12_345, 3_000_000, 600_000_000] {
            let mut row = Row::default();
            Row::record(&mut row.service, micros * 1_000);
            let kept = row.service.max();
            assert!((micros..=micros + micros / 1_000).contains(&kept), "{micros}: {kept}");
        }
    }
}
