//! Memory that the clients of a database use: input, unread output, and requests that wait for
//! shards.

use super::Worker;
use crate::arena::Id;
use crate::stats::Failure;

/// If a database has grown by this many bytes since the last report to the budget, it is checked
/// before the next tick.
const SOON: i64 = 1 << 20;
/// Closing clients smaller than this would free too little.
const SMALL: usize = 64 * 1024;

impl Worker {
    /// Updates the memory of a client. Called whenever its size may have changed.
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

    /// Updates the memory of connections to shards and of requests that wait for a primary. Called
    /// at each tick.
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
