//! What clients of a database occupy: what they have sent, what they have not read, what waits for shards.

use super::Worker;
use crate::arena::Id;
use crate::stats::Failure;

/// Grown by this much since it was told, a database is looked at before the next tick.
const SOON: i64 = 1 << 20;
/// To close clients smaller than this would free nothing.
const SMALL: usize = 64 * 1024;

impl Worker {
    /// Called whenever a client may have become larger or smaller.
    #[inline]
    pub(super) fn weigh(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let weight = client.weight();
        let grown = weight as i64 - client.weighed as i64;
        if grown == 0 {
            return;
        }
        client.weighed = weight;
        let db = client.db;
        self.dbs[db].clients_weigh += grown;
        if self.dbs[db].clients_weigh + self.dbs[db].others_weigh > self.dbs[db].told_weight + SOON {
            self.keep_within_budget(db);
        }
    }

    /// Buffers of connections to shards, and requests that wait for a primary, as of this tick.
    pub(super) fn weigh_others(&mut self) {
        for db in &mut self.dbs {
            db.others_weigh = db.parked.weight() as i64;
        }
        for id in self.backends.ids() {
            if let Some(backend) = self.backends.get(id) {
                self.dbs[backend.db].others_weigh += backend.weight() as i64;
            }
        }
        for db in 0..self.dbs.len() {
            self.keep_within_budget(db);
        }
    }

    fn keep_within_budget(&mut self, db: usize) {
        self.tell_weight(db);
        let mut excess = self.budget.excess(&self.dbs[db].connections.memory);
        while excess > 0 {
            let Some((id, weight)) = self.heaviest(db).filter(|(_, weight)| *weight >= SMALL) else { return };
            self.dbs[db].stats.failed(Failure::Memory);
            self.close_client(id);
            self.tell_weight(db);
            excess = excess.saturating_sub(weight as u64);
        }
    }

    fn tell_weight(&mut self, db: usize) {
        let db = &mut self.dbs[db];
        let weight = db.clients_weigh + db.others_weigh;
        self.budget.take(&db.connections.memory, weight - db.told_weight);
        db.told_weight = weight;
    }

    fn heaviest(&self, db: usize) -> Option<(Id, usize)> {
        let ids = self.clients.ids().into_iter();
        let clients = ids.filter_map(|id| Some((id, self.clients.get(id).filter(|client| client.db == db)?)));
        clients.map(|(id, client)| (id, client.weighed)).max_by_key(|(_, weight)| *weight)
    }
}
