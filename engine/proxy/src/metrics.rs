//! The metrics of a process, summed over its workers. Sent every second, see `control.rs`.

use crate::command::{CLASSES, Class};
use crate::command_counts::CommandMetrics;
use crate::stats::{Connections, Failure, Stats};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

#[derive(Debug, Serialize)]
pub struct Metrics {
    /// Unix time in milliseconds.
    pub at: u64,
    pub started_at: u64,
    pub pid: u32,
    pub threads: usize,
    pub draining: bool,
    pub cpu_seconds: f64,
    pub rss_bytes: u64,
    pub databases: Vec<DatabaseMetrics>,
}

#[derive(Debug, Serialize)]
pub struct DatabaseMetrics {
    pub uid: u64,
    pub threads: usize,
    pub requests: BTreeMap<&'static str, u64>,
    pub responses: BTreeMap<&'static str, u64>,
    /// Requests answered by the proxy with an error or with MOVED. Not included in the other
    /// counters.
    pub unserved: BTreeMap<&'static str, u64>,
    pub errors: BTreeMap<&'static str, u64>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub connections: u32,
    pub connections_total: u64,
    pub connections_rejected: u64,
    /// `[microseconds, count]`: the highest value of each used bucket (3 significant digits) and
    /// the number of replies with that latency.
    pub latency: BTreeMap<&'static str, Vec<(u64, u64)>>,
}

/// The commands of one database in the last minute. Sent on request.
#[derive(Debug, Serialize)]
pub struct Commands {
    pub uid: u64,
    pub commands: Vec<CommandMetrics>,
}

impl DatabaseMetrics {
    pub fn new(uid: u64, threads: usize, stats: &Stats, connections: &Connections) -> Self {
        let by_class =
            |values: [u64; CLASSES]| Class::ALL.map(|class| (class.name(), values[class as usize])).into();
        let mut errors: BTreeMap<_, _> = Failure::NAMES.into_iter().zip(stats.failures).collect();
        let rejected = connections.rejected.load(Ordering::Relaxed);
        errors.insert("maxclients", rejected);
        Self {
            uid,
            threads,
            requests: by_class(stats.requests),
            responses: by_class(stats.responses),
            unserved: by_class(stats.unserved),
            errors,
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            connections: connections.now.load(Ordering::Relaxed),
            connections_total: connections.total.load(Ordering::Relaxed),
            connections_rejected: rejected,
            latency: Class::ALL.map(|class| (class.name(), sparse(stats, class))).into(),
        }
    }
}

fn sparse(stats: &Stats, class: Class) -> Vec<(u64, u64)> {
    let Some(histogram) = &stats.latency[class as usize] else { return Vec::new() };
    histogram.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value())).collect()
}
