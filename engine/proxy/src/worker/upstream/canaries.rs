//! Writes of the proxy that change nothing, to primaries that receive no client writes from this
//! worker. They determine until when a primary accepted writes, and since when it or its promoted
//! replica accepts them again, even without requests of clients.

use crate::command::Class;
use crate::topology::TargetNumber;
use crate::worker::types::request::{Pending, Purpose};
use crate::worker::types::session::Credentials;
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use crate::worker::upstream::canary::Canary;
use crate::worker::upstream::db::Db;

/// Time in microseconds after which a primary that does not answer a canary is considered lost.
const SILENT: u64 = 500_000;
/// The same for a primary whose replica has been promoted in the meantime.
const REPLACED: u64 = 200_000;
/// Pause after a refusal. Shards of earlier releases lack the canary user, but may be replaced by
/// newer ones.
const REFUSED: u64 = 10_000_000;
/// Number of the worker that sends canaries: the first worker of a process, which is never retired.
const SENDER: usize = 1;

impl Db {
    /// Whether canaries detect that the slot is served again.
    pub fn watches(&self, slot: u16) -> bool {
        self.config.canary.is_some() && self.topology.watches(slot)
    }

    /// Selects one canary for every primary that this endpoint watches, and for every outage that
    /// canaries detected: its end must be reported even if other endpoints watch the primary now.
    /// Existing canaries keep their state.
    fn choose_canaries(&mut self) {
        self.canaries_of = Some(self.topology_version);
        let mut known = std::mem::take(&mut self.canaries);
        let mut watched = self.topology.watched();
        for open in self.outages.iter().filter(|open| open.outage.watched) {
            let slot = open.outage.slots[0].0;
            let is_watched = watched.iter().any(|&(slot, _)| open.has(slot));
            if let Some(owner) = self.topology.owner(slot).filter(|_| !is_watched) {
                watched.push((slot, owner));
            }
        }
        for (slot, target) in watched {
            let at = known.iter().position(|canary| canary.slot == slot);
            self.canaries.push(at.map_or_else(|| Canary::new(slot, target), |at| known.swap_remove(at)));
        }
    }

    /// Records that a canary was answered or lost.
    fn finish_canary(&mut self, target: TargetNumber, slot: u16) {
        let same = |canary: &&mut Canary| canary.slot == slot && canary.target == target;
        if let Some(canary) = self.canaries.iter_mut().find(same) {
            canary.is_under_way = false;
        }
    }

    /// Stops canaries for some time, because a shard has refused their user.
    fn pause_canaries(&mut self, now: u64) {
        self.canaries_paused_until = now + REFUSED;
    }
}

impl Upstream {
    pub fn send_canaries(&mut self, db: usize, is_draining: bool) {
        let Some(config) = self.dbs[db].config.canary.clone() else { return };
        let is_active = self.reports.number == SENDER && !is_draining && !self.dbs[db].leaving;
        if !is_active || self.io.now < self.dbs[db].canaries_paused_until {
            return;
        }
        if self.dbs[db].canaries_of != Some(self.dbs[db].topology_version) {
            self.dbs[db].choose_canaries();
        }
        for at in 0..self.dbs[db].canaries.len() {
            self.send_canary(db, at, &config);
        }
    }

    fn send_canary(&mut self, db: usize, at: usize, config: &crate::control::Canary) {
        let canary = &self.dbs[db].canaries[at];
        let (slot, target, asked_at) = (canary.slot, canary.target, canary.asked_at);
        let Some(owner) = self.dbs[db].topology.owner(slot) else { return };
        if canary.is_under_way {
            if asked_at + if owner == target { SILENT } else { REPLACED } < self.io.now {
                self.dbs[db].start_outage(&self.io, &self.reports, target, owner, false);
            }
            if owner == target {
                return;
            }
        }
        let due = asked_at.max(self.dbs[db].last_write(owner)) + config.interval_ms * 1_000;
        if owner == target && self.io.now < due && !self.dbs[db].has_outage(slot) {
            return;
        }
        let credentials = Credentials {
            login: Some((config.user.clone().into_bytes(), config.password.clone().into_bytes())),
            resp3: false,
        };
        let identity = self.dbs[db].intern(credentials);
        let Some(backend) = self.shared_to(db, identity, owner, 0) else { return };
        let canary = &mut self.dbs[db].canaries[at];
        (canary.target, canary.asked_at, canary.is_under_way) = (owner, self.io.now, true);
        let request = canary.request.clone();
        self.enqueue(
            backend,
            &request,
            Pending { slot, class: Class::Write, ..Pending::internal(Purpose::Canary) },
        );
    }

    /// Handles the reply to a canary. Returns `true` if the shard accepts writes.
    #[cold]
    pub fn canary_answered(&mut self, backend: &Backend, pending: &Pending, frame: &[u8]) -> bool {
        self.dbs[backend.db].finish_canary(backend.target, pending.slot);
        if frame[0] != b'-' || frame.starts_with(b"-WRONGTYPE") {
            self.succeeded(backend, pending);
            return true;
        }
        if frame.starts_with(b"-NOAUTH") || frame.starts_with(b"-NOPERM") {
            self.dbs[backend.db].pause_canaries(self.io.now);
        } else {
            // MOVED is ignored: a starting shard redirects all requests to the replica that
            // replaces it, which would, slot by slot, make the shard appear available.
            self.note_no_primary(backend, frame);
        }
        false
    }

    /// Handles a canary that was lost with its connection. `is_refused`: its user could not log in.
    pub fn canary_lost(&mut self, db: usize, target: TargetNumber, slot: u16, is_refused: bool) {
        self.dbs[db].finish_canary(target, slot);
        if is_refused {
            self.dbs[db].pause_canaries(self.io.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Database;
    use crate::outage::Outage;
    use crate::worker::upstream::outage::OpenOutage;
    use serde_json::json;
    use std::sync::Arc;

    /// Returns a database with endpoints on three nodes, for that on node 1. Its primary is on
    /// `node`.
    fn database(version: u64, node: u8) -> Arc<Database> {
        let proxies: Vec<_> = [1, 2, 3]
            .iter()
            .map(|node| {
                json!({"id": node.to_string(), "address": format!("10.0.0.{node}"), "port": 12000,
                       "local": *node == 1})
            })
            .collect();
        let shard = json!({"id": node.to_string(), "role": "primary", "address": format!("10.0.0.{node}"),
                           "port": 20000, "slots": [[0, 16383]]});
        let database = json!({"uid": 1, "address": "10.0.0.1", "port": 12000, "mode": "hidden",
                              "version": version, "shards": [shard], "proxies": proxies});
        Arc::new(serde_json::from_value(database).unwrap())
    }

    #[test]
    fn a_detected_outage_is_watched_until_it_ends() {
        let mut db = Db::new(database(1, 2), Arc::default());
        db.choose_canaries();
        assert_eq!(db.canaries.len(), 1);
        let outage = Outage {
            uid: 1,
            address: "10.0.0.2".into(),
            port: 20000,
            slots: vec![(0, 16383)],
            last_success_ms: Some(1),
            noticed_ms: 2,
            first_success_ms: None,
            waited: 0,
            failed: 0,
            lost: 0,
            watched: true,
        };
        db.outages.push(OpenOutage { outage, is_read_only: false, retry_quota: 1 });
        db.configure(database(2, 1));
        assert!(db.topology.watched().is_empty(), "the endpoints on the other nodes watch it now");
        db.choose_canaries();
        assert_eq!(db.canaries.len(), 1);
        db.outages.clear();
        db.choose_canaries();
        assert!(db.canaries.is_empty());
    }
}
