//! The counters of all workers, summed since the start of the process.

use super::recent::RecentCommands;
use crate::control::Database;
use crate::listeners::Listeners;
use crate::metrics::{DatabaseMetrics, Metrics};
use crate::resources;
use crate::stats::Stats;
use crate::worker::{Counts, Handle, Message};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

pub(super) struct MetricsCollector {
    started_at: u64,
    totals: BTreeMap<u64, Stats>,
    pub(super) counts: Sender<Counts>,
    counted: Receiver<Counts>,
    pub(super) recent: RecentCommands,
}

/// A worker handles its messages in every round of its loop, so it replies within this time.
const PATIENCE: Duration = Duration::from_millis(200);

impl MetricsCollector {
    pub(super) fn new() -> Self {
        let started_at = resources::unix_millis();
        let (counts, counted) = channel();
        Self {
            started_at,
            totals: BTreeMap::new(),
            counts,
            counted,
            recent: RecentCommands::new(Instant::now()),
        }
    }

    /// Queries all workers at the same time and adds the replies that arrive in time. Later ones
    /// are added at the next call.
    pub(super) fn collect(&mut self, workers: &[Handle]) {
        for handle in workers {
            handle.send(Message::Measure);
        }
        let until = Instant::now() + PATIENCE;
        let mut missing = workers.len();
        while missing > 0 {
            let Ok(counts) = self.counted.recv_timeout(until.saturating_duration_since(Instant::now()))
            else {
                break;
            };
            self.add(counts);
            missing -= 1;
        }
        while let Ok(counts) = self.counted.try_recv() {
            self.add(counts);
        }
        self.recent.rotate(Instant::now());
    }

    fn add(&mut self, counts: Counts) {
        for (uid, stats) in counts {
            self.recent.add(uid, &stats);
            self.totals.entry(uid).or_default().add(&stats);
        }
    }

    pub(super) fn metrics(
        &self,
        threads: usize,
        databases: &[Arc<Database>],
        listeners: &mut Listeners,
        draining: bool,
    ) -> Metrics {
        let none = Stats::default();
        let databases = databases.iter().map(|database| {
            let stats = self.totals.get(&database.uid).unwrap_or(&none);
            DatabaseMetrics::new(database.uid, threads, stats, &listeners.connections(database.uid))
        });
        Metrics {
            at: resources::unix_millis(),
            started_at: self.started_at,
            pid: std::process::id(),
            threads,
            draining,
            cpu_seconds: resources::cpu_seconds(),
            rss_bytes: resources::rss_bytes(),
            databases: databases.collect(),
        }
    }
}
