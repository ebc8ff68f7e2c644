//! Counters of one worker for one database since the last report. Plain numbers, because the worker
//! is the only writer.

use crate::budget::DatabaseMemory;
use crate::command::{CLASSES, Class};
use crate::command_counts::CommandCounts;
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU32, AtomicU64};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Moved,
    Ask,
    Clusterdown,
    Loading,
    Noauth,
    Crossslot,
    Refused,
    Timeout,
    Reset,
    Protocol,
    Maxclients,
    /// A client was disconnected because its database used more than its share of the memory.
    Memory,
    Other,
}

impl Failure {
    pub const NAMES: [&str; 13] = [
        "moved",
        "ask",
        "clusterdown",
        "loading",
        "noauth",
        "crossslot",
        "refused",
        "timeout",
        "reset",
        "protocol",
        "maxclients",
        "memory",
        "other",
    ];

    /// Returns the failure for the first word of an error reply.
    pub fn of(reply: &[u8]) -> Self {
        let word = reply.get(1..).unwrap_or_default().split(|b| b.is_ascii_whitespace()).next();
        match word.unwrap_or_default() {
            b"MOVED" => Self::Moved,
            b"ASK" => Self::Ask,
            b"CLUSTERDOWN" => Self::Clusterdown,
            b"LOADING" => Self::Loading,
            b"NOAUTH" | b"WRONGPASS" => Self::Noauth,
            b"CROSSSLOT" => Self::Crossslot,
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Default)]
pub struct Stats {
    pub requests: [u64; CLASSES],
    pub responses: [u64; CLASSES],
    /// Answered by the proxy with an error or with MOVED. Not included in requests and responses,
    /// and without latency.
    pub unserved: [u64; CLASSES],
    pub failures: [u64; 13],
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Microseconds from the arrival of a request until its reply was written. Allocated on first
    /// use.
    pub latency: [Option<Histogram<u64>>; CLASSES],
    /// Not cumulative: kept for a minute, see `process/recent.rs`.
    pub commands: CommandCounts,
}

/// Replies to one command that arrived together and were written together.
#[derive(Debug, Clone, Copy)]
pub struct ReplyBatch {
    /// Microseconds of the worker's clock.
    pub arrived: u64,
    pub class: Class,
    /// Index of the command.
    pub command_index: u16,
    pub served: u64,
    /// Created by the proxy without a shard, so they have no latency.
    pub unserved: u64,
    /// Errors among both.
    pub errors: u64,
}

const MAX_LATENCY_US: u64 = 60_000_000;

impl Stats {
    #[inline]
    pub fn replied(&mut self, replies: &ReplyBatch, now: u64) {
        let micros = now.saturating_sub(replies.arrived);
        let counts = self.commands.entry(replies.command_index);
        counts.calls += replies.unserved;
        counts.errors += replies.errors;
        if replies.served > 0 {
            counts.record(micros, replies.served);
            self.served(replies.class, micros, replies.served);
        }
    }

    #[inline]
    fn served(&mut self, class: Class, micros: u64, count: u64) {
        self.responses[class as usize] += count;
        let histogram = self.latency[class as usize].get_or_insert_with(new_histogram);
        // Not `saturating_record_n`: it clamps to the current range of the histogram instead of
        // extending it.
        histogram
            .record_n(micros.clamp(1, MAX_LATENCY_US), count)
            .expect("a histogram that grows holds any value");
    }

    pub fn is_empty(&self) -> bool {
        let served = self.requests.iter().chain(&self.responses);
        served.chain(&self.unserved).chain(&self.failures).all(|&count| count == 0)
            && self.bytes_in + self.bytes_out == 0
    }

    pub fn failed(&mut self, failure: Failure) {
        self.failures[failure as usize] += 1;
    }

    pub fn add(&mut self, other: &Self) {
        add(&mut self.requests, &other.requests);
        add(&mut self.responses, &other.responses);
        add(&mut self.unserved, &other.unserved);
        add(&mut self.failures, &other.failures);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        for (mine, theirs) in self.latency.iter_mut().zip(&other.latency) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_with(new_histogram)
                    .add(theirs)
                    .expect("a histogram that grows holds any other");
            }
        }
    }
}

fn add<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}

fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are allowed")
}

/// Connections of one database: see `worker/types/connection_count.rs`.
#[derive(Debug, Default)]
pub struct Connections {
    pub now: AtomicU32,
    pub total: AtomicU64,
    pub rejected: AtomicU64,
    pub memory: DatabaseMemory,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Other => "other",
            Self::Blocking => "blocking",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_recorded_within_a_thousandth() {
        for micros in (0..27).map(|power| 3u64 << power) {
            let mut stats = Stats::default();
            stats.served(Class::Write, 1, 1);
            stats.served(Class::Write, micros, 7);
            let mut total = Stats::default();
            total.add(&stats);
            let histogram = total.latency[Class::Write as usize].as_ref().expect("something was recorded");
            let expected = micros.min(MAX_LATENCY_US);
            assert_eq!(histogram.len(), 8);
            assert!((expected..=expected + expected / 1_000).contains(&histogram.max()), "{micros}");
        }
    }
}
