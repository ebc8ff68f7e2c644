//! Since when a shard answers no more, and what became of requests for it meanwhile.

use super::Worker;
use super::backend::{Backend, Pending};
use crate::command::Class;
use crate::process::{Event, Outage, Part};
use crate::resources;
use crate::topology::TargetNumber;

/// What a shard says that is no primary now, or has not all of it.
const NO_PRIMARY_NOW: [&[u8]; 4] = [b"READONLY", b"CLUSTERDOWN", b"LOADING", b"MASTERDOWN"];

#[derive(Debug)]
pub struct Open {
    outage: Outage,
    /// It answers, but takes no writes.
    is_read_only: bool,
    /// How many of those that wait may ask it in a round.
    pub few: u32,
}

impl Open {
    /// Whether it would end if the request were executed.
    pub fn concerns(&self, pending: &Pending) -> bool {
        self.has(pending.slot) && !(self.is_read_only && pending.class == Class::Read)
    }

    pub(super) fn has(&self, slot: u16) -> bool {
        self.outage.slots.iter().any(|&(first, last)| (first..=last).contains(&slot))
    }
}

/// What becomes of a request while its shard is away.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    Waits,
    Failed,
    Lost,
}

impl Worker {
    /// An error reply may say that the shard is no primary that can take anything.
    pub(super) fn note_no_primary(&mut self, backend: &Backend, frame: &[u8]) {
        if NO_PRIMARY_NOW.iter().any(|word| frame[1..].starts_with(word)) {
            self.outage_begins(backend.db, backend.target, frame.starts_with(b"-READONLY"));
        }
    }

    /// A primary cannot be reached any more, or says that it is none.
    #[cold]
    pub(super) fn outage_begins(&mut self, db: usize, target: TargetNumber, is_read_only: bool) {
        self.outage_of(db, target, target, is_read_only);
    }

    /// The same, of one whose slots are another's by now.
    pub(super) fn outage_of(
        &mut self,
        db: usize,
        target: TargetNumber,
        owner: TargetNumber,
        is_read_only: bool,
    ) {
        let slots = self.dbs[db].topology.ranges_of(owner);
        let Some(&(slot, _)) = slots.first() else { return };
        if let Some(open) = self.dbs[db].outages.iter_mut().find(|open| open.has(slot)) {
            open.few = 1;
            return;
        }
        let last_success =
            self.dbs[db].successes.get(usize::from(target)).map(|success| success.any).filter(|&at| at > 0);
        let place = self.dbs[db].topology.targets[usize::from(target)].address;
        let outage = Outage {
            uid: self.dbs[db].config.uid,
            address: place.ip().to_string(),
            port: place.port(),
            slots,
            last_success_ms: last_success.map(|at| self.unix_millis(at)),
            noticed_ms: resources::unix_millis(),
            first_success_ms: None,
            waited: 0,
            failed: 0,
            lost: 0,
            // Of one that has never been there, nobody knows since when it should be.
            watched: last_success.is_some() && self.dbs[db].watches(slot),
        };
        self.tell_outage(outage.clone());
        self.dbs[db].outages.push(Open { outage, is_read_only, few: 1 });
    }

    /// Something happens to a request.
    pub(super) fn note_fate(&mut self, db: usize, pending: &Pending, fate: Fate) {
        let Some(open) = self.dbs[db].outages.iter_mut().find(|open| open.has(pending.slot)) else { return };
        match fate {
            Fate::Waits => open.outage.waited += 1,
            Fate::Failed => open.outage.failed += 1,
            Fate::Lost => open.outage.lost += 1,
        }
    }

    /// Shards have answered requests without an error, this one the last of them.
    #[inline]
    pub(super) fn succeeded(&mut self, backend: &Backend, pending: &Pending) {
        if !self.dbs[backend.db].outages.is_empty() {
            self.outage_ends(backend.db, pending);
        }
    }

    #[cold]
    fn outage_ends(&mut self, db: usize, pending: &Pending) {
        let Some(at) = self.dbs[db].outages.iter().position(|open| open.concerns(pending)) else { return };
        let Open { mut outage, .. } = self.dbs[db].outages.swap_remove(at);
        outage.first_success_ms = Some(resources::unix_millis().max(outage.noticed_ms));
        self.tell_outage(outage);
        self.released.push(db);
    }

    /// A request was answered with an error that is its own: the shard refuses nobody, or has looked at nothing else yet.
    #[inline]
    pub(super) fn answered_with_error(&mut self, db: usize, pending: &Pending) {
        if let Some(open) = self.dbs[db].outages.iter_mut().find(|open| open.concerns(pending)) {
            open.few = open.few.saturating_add(1);
        }
    }

    fn tell_outage(&self, outage: Outage) {
        // The control thread is gone only when the process ends.
        let _ = self.events.send(Event::Outage(Part { worker: self.number, outage }));
    }

    /// Of a time of this worker's clock. What `now` holds may be long ago on a busy machine, and does not count here.
    fn unix_millis(&self, at: u64) -> u64 {
        resources::unix_millis_of(self.clock.at(at))
    }
}
