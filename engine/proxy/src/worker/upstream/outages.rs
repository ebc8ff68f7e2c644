//! Outages of shards from the perspective of one worker: their start and end, and what happened to
//! requests for the shard.

use crate::outage::Outage;
use crate::resources;
use crate::topology::TargetNumber;
use crate::worker::io::Io;
use crate::worker::reports::Reports;
use crate::worker::types::request::{Pending, RequestResult};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use crate::worker::upstream::db::Db;
use crate::worker::upstream::outage::OpenOutage;

/// Errors of a shard that is not a usable primary, or does not serve all its slots.
const NO_PRIMARY_NOW: [&[u8]; 4] = [b"READONLY", b"CLUSTERDOWN", b"LOADING", b"MASTERDOWN"];

impl Db {
    /// Starts an outage of a primary whose slots belong to `owner`: usually the same, or another
    /// primary that already replaces it.
    #[cold]
    pub fn start_outage(
        &mut self,
        io: &Io,
        reports: &Reports,
        target: TargetNumber,
        owner: TargetNumber,
        is_read_only: bool,
    ) {
        let slots = self.topology.ranges_of(owner);
        let Some(&(slot, _)) = slots.first() else { return };
        if let Some(open) = self.outages.iter_mut().find(|open| open.has(slot)) {
            open.retry_quota = 1;
            return;
        }
        let last_success =
            self.successes.get(usize::from(target)).map(|success| success.any).filter(|&at| at > 0);
        let primary = self.topology.targets[usize::from(target)].address;
        let outage = Outage {
            uid: self.config.uid,
            address: primary.ip().to_string(),
            port: primary.port(),
            slots,
            last_success_ms: last_success.map(|at| io.unix_millis(at)),
            noticed_ms: resources::unix_millis(),
            first_success_ms: None,
            waited: 0,
            failed: 0,
            lost: 0,
            // It is unknown since when a primary that has never answered should be available.
            watched: last_success.is_some() && self.watches(slot),
        };
        reports.report_outage(outage.clone());
        self.outages.push(OpenOutage { outage, is_read_only, retry_quota: 1 });
    }

    /// Ends and returns the outage that does not continue because this request was executed.
    fn end_outage(&mut self, pending: &Pending) -> Option<Outage> {
        let at = self.outages.iter().position(|open| open.concerns(pending))?;
        let OpenOutage { mut outage, .. } = self.outages.swap_remove(at);
        outage.first_success_ms = Some(resources::unix_millis().max(outage.noticed_ms));
        Some(outage)
    }

    /// Counts the result of a request.
    pub fn count_result(&mut self, pending: &Pending, result: RequestResult) {
        let Some(open) = self.outages.iter_mut().find(|open| open.has(pending.slot)) else { return };
        match result {
            RequestResult::Waits => open.outage.waited += 1,
            RequestResult::Failed => open.outage.failed += 1,
            RequestResult::Lost => open.outage.lost += 1,
        }
    }

    /// Records that a request was answered with an error that concerns only this request: the shard
    /// does not refuse requests in general, or has not checked this yet.
    #[inline]
    pub fn answered_with_error(&mut self, pending: &Pending) {
        if let Some(open) = self.outages.iter_mut().find(|open| open.concerns(pending)) {
            open.retry_quota = open.retry_quota.saturating_add(1);
        }
    }
}

impl Upstream {
    /// Starts an outage if an error reply shows that the shard is not a usable primary.
    pub fn note_no_primary(&mut self, backend: &Backend, frame: &[u8]) {
        if NO_PRIMARY_NOW.iter().any(|word| frame[1..].starts_with(word)) {
            self.start_outage(backend.db, backend.target, frame.starts_with(b"-READONLY"));
        }
    }

    /// Starts an outage: a primary has become unreachable or reports that it is not a primary.
    #[cold]
    pub fn start_outage(&mut self, db: usize, target: TargetNumber, is_read_only: bool) {
        self.dbs[db].start_outage(&self.io, &self.reports, target, target, is_read_only);
    }

    /// Records that shards have answered requests without an error. `pending` is the last of them.
    #[inline]
    pub fn succeeded(&mut self, backend: &Backend, pending: &Pending) {
        if !self.dbs[backend.db].outages.is_empty() {
            self.end_outage(backend.db, pending);
        }
    }

    #[cold]
    fn end_outage(&mut self, db: usize, pending: &Pending) {
        if let Some(outage) = self.dbs[db].end_outage(pending) {
            self.reports.report_outage(outage);
            self.dbs.recovered.push(db);
        }
    }
}
