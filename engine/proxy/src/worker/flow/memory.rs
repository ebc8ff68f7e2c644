//! Memory that the clients of a database use: input, unread output, and requests that wait for
//! shards.

use crate::arena::Id;
use crate::stats::Failure;
use crate::worker::Worker;

/// If a database has grown by this many bytes since the last report to the budget, it is checked
/// before the next tick.
const SOON: i64 = 1 << 20;
/// Closing clients smaller than this would free too little.
const SMALL: usize = 64 * 1024;

impl Worker {
    /// Updates the memory of a client. Called whenever its size may have changed.
    #[inline]
    pub fn update_memory(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let memory = client.memory();
        let grown = memory as i64 - client.accounted_memory as i64;
        if grown == 0 {
            return;
        }
        client.accounted_memory = memory;
        let db = client.db;
        self.dbs[db].client_memory += grown;
        if self.dbs[db].client_memory + self.dbs[db].other_memory > self.dbs[db].reported_memory + SOON {
            self.keep_within_budget(db);
        }
    }

    /// Updates the memory of connections to shards and of requests that wait for a primary. Called
    /// at each tick.
    pub fn update_other_memory(&mut self) {
        for db in &mut self.dbs {
            db.other_memory = db.parked.memory() as i64;
        }
        for id in self.backends.arena.ids() {
            if let Some(backend) = self.backends.arena.get(id) {
                self.dbs[backend.db].other_memory += backend.memory() as i64;
            }
        }
        for db in 0..self.dbs.len() {
            self.keep_within_budget(db);
        }
    }

    fn keep_within_budget(&mut self, db: usize) {
        self.report_memory(db);
        let mut excess = self.reports.budget.excess(&self.dbs[db].connections.memory);
        while excess > 0 {
            let Some((id, memory)) = self.heaviest(db).filter(|(_, memory)| *memory >= SMALL) else { return };
            self.dbs[db].stats.failed(Failure::Memory);
            self.close_client(id);
            self.report_memory(db);
            excess = excess.saturating_sub(memory as u64);
        }
    }

    fn report_memory(&mut self, db: usize) {
        let db = &mut self.dbs[db];
        let memory = db.client_memory + db.other_memory;
        self.reports.report_memory(&db.connections.memory, memory - db.reported_memory);
        db.reported_memory = memory;
    }

    fn heaviest(&self, db: usize) -> Option<(Id, usize)> {
        let ids = self.clients.ids().into_iter();
        let clients = ids.filter_map(|id| Some((id, self.clients.get(id).filter(|client| client.db == db)?)));
        clients.map(|(id, client)| (id, client.accounted_memory)).max_by_key(|(_, memory)| *memory)
    }
}
