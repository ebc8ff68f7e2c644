//! Writes of the proxy that change nothing, to primaries that receive no client writes from this
//! worker. They determine until when a primary accepted writes, and since when it or its promoted
//! replica accepts them again, even without requests of clients.

use crate::command::Class;
use crate::topology::TargetNumber;
use crate::worker::Worker;
use crate::worker::backend::Backend;
use crate::worker::db::Db;
use crate::worker::types::request::{Pending, Purpose};
use crate::worker::types::session::Credentials;
use resp::{encode, slot};
use std::sync::OnceLock;

/// Prefix of the canary keys. The engine user for canaries may access no other keys.
const PREFIX: &str = "shardboard:canary:";
/// Time in microseconds after which a primary that does not answer a canary is considered lost.
const SILENT: u64 = 500_000;
/// The same for a primary whose replica has been promoted in the meantime.
const REPLACED: u64 = 200_000;
/// Pause after a refusal. Shards of earlier releases lack the canary user, but may be replaced by
/// newer ones.
const REFUSED: u64 = 10_000_000;
/// Number of the worker that sends canaries: the first worker of a process, which is never retired.
const SENDER: usize = 1;

/// The canary of one primary.
#[derive(Debug)]
pub struct Canary {
    slot: u16,
    request: Vec<u8>,
    /// The primary that received the last canary, and the time; 0: send immediately.
    target: TargetNumber,
    asked_at: u64,
    is_under_way: bool,
}

impl Canary {
    fn new(slot: u16, target: TargetNumber) -> Self {
        let key = format!("{PREFIX}{{{}}}", tags()[usize::from(slot)]);
        let mut request = Vec::new();
        // It is rejected where writes are rejected, and its interval is empty, so it creates and
        // changes no key. Applications rarely use the command, so agents exclude it from the
        // traffic.
        encode::command(&mut request, [b"ZREMRANGEBYLEX", key.as_bytes(), b"+", b"-"].into_iter());
        Self { slot, request, target, asked_at: 0, is_under_way: false }
    }
}

/// Returns a hash tag, which is a number, for each slot.
fn tags() -> &'static [u32] {
    static TAGS: OnceLock<Vec<u32>> = OnceLock::new();
    TAGS.get_or_init(|| {
        let mut tags = vec![u32::MAX; usize::from(slot::SLOTS)];
        let mut missing = tags.len();
        for tag in 0.. {
            let tag_of_slot = &mut tags[usize::from(slot::of_key(tag.to_string().as_bytes()))];
            if *tag_of_slot == u32::MAX {
                *tag_of_slot = tag;
                missing -= 1;
            }
            if missing == 0 {
                break;
            }
        }
        tags
    })
}

impl Db {
    /// Whether canaries detect that the slot is served again.
    pub(super) fn watches(&self, slot: u16) -> bool {
        self.config.canary.is_some() && self.topology.watches(slot)
    }

    /// Selects one canary for every primary that this endpoint watches. Existing canaries keep
    /// their state.
    fn choose_canaries(&mut self) {
        self.canaries_of = Some(self.topology_version);
        let mut known = std::mem::take(&mut self.canaries);
        for (slot, target) in self.topology.watched() {
            let at = known.iter().position(|canary| canary.slot == slot);
            self.canaries.push(at.map_or_else(|| Canary::new(slot, target), |at| known.swap_remove(at)));
        }
    }
}

impl Worker {
    pub(super) fn send_canaries(&mut self, db: usize) {
        let Some(config) = self.dbs[db].config.canary.clone() else { return };
        let is_active = self.number == SENDER && self.draining.is_none() && !self.dbs[db].leaving;
        if !is_active || self.now < self.dbs[db].canaries_paused_until {
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
            if asked_at + if owner == target { SILENT } else { REPLACED } < self.now {
                self.start_outage_of(db, target, owner, false);
            }
            if owner == target {
                return;
            }
        }
        let due = asked_at.max(self.dbs[db].last_write(owner)) + config.interval_ms * 1_000;
        if owner == target && self.now < due && !self.dbs[db].has_outage(slot) {
            return;
        }
        let credentials = Credentials {
            login: Some((config.user.clone().into_bytes(), config.password.clone().into_bytes())),
            resp3: false,
        };
        let identity = self.dbs[db].intern(credentials);
        let Some(backend) = self.shared_to(db, identity, owner, 0) else { return };
        let canary = &mut self.dbs[db].canaries[at];
        (canary.target, canary.asked_at, canary.is_under_way) = (owner, self.now, true);
        let request = canary.request.clone();
        self.enqueue(
            backend,
            &request,
            Pending { slot, class: Class::Write, ..Pending::internal(Purpose::Canary) },
        );
    }

    /// Handles the reply to a canary. Returns `true` if the shard accepts writes.
    #[cold]
    pub(super) fn canary_answered(&mut self, backend: &Backend, pending: &Pending, frame: &[u8]) -> bool {
        self.canary_is_back(backend.db, backend.target, pending.slot);
        if frame[0] != b'-' || frame.starts_with(b"-WRONGTYPE") {
            self.succeeded(backend, pending);
            return true;
        }
        if frame.starts_with(b"-NOAUTH") || frame.starts_with(b"-NOPERM") {
            self.canaries_refused(backend.db);
        } else {
            // MOVED is ignored: a starting shard redirects all requests to the replica that
            // replaces it, which would, slot by slot, make the shard appear available.
            self.note_no_primary(backend, frame);
        }
        false
    }

    /// Handles a canary that was lost with its connection. `is_refused`: its user could not log in.
    pub(super) fn canary_lost(&mut self, db: usize, target: TargetNumber, slot: u16, is_refused: bool) {
        self.canary_is_back(db, target, slot);
        if is_refused {
            self.canaries_refused(db);
        }
    }

    fn canary_is_back(&mut self, db: usize, target: TargetNumber, slot: u16) {
        let same = |canary: &&mut Canary| canary.slot == slot && canary.target == target;
        if let Some(canary) = self.dbs[db].canaries.iter_mut().find(same) {
            canary.is_under_way = false;
        }
    }

    fn canaries_refused(&mut self, db: usize) {
        self.dbs[db].canaries_paused_until = self.now + REFUSED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_key() {
        for slot in [0, 1, 866, slot::SLOTS - 1] {
            let request = Canary::new(slot, 0).request;
            let key = request.split(|&byte| byte == b'\n').nth(4).unwrap().trim_ascii_end();
            assert!(key.starts_with(PREFIX.as_bytes()));
            assert_eq!(slot::of_key(key), slot);
        }
    }
}
