//! Memory that the clients of a database use: input, unread output, and requests that wait for
//! shards.

use crate::arena::Id;
use crate::stats::Failure;
use crate::worker::Worker;
use crate::worker::upstream::Upstream;

/// If a database has grown by this many bytes since the last report to the budget, it is checked
/// before the next tick.
const SOON: i64 = 1 << 20;
/// Closing clients smaller than this would free too little.
const SMALL: usize = 64 * 1024;

impl Worker {
    /// Updates the memory of a client. Called whenever its size may have changed.
    #[inline]
    pub fn update_memory(&mut self, id: Id) {
        let Some(client) = self.clients.arena.get_mut(id) else { return };
        let memory = client.memory();
        let grown = memory as i64 - client.accounted_memory as i64;
        if grown == 0 {
            return;
        }
        client.accounted_memory = memory;
        let index = client.db;
        let db = &mut self.upstream.dbs[index];
        db.client_memory += grown;
        if db.client_memory + db.other_memory > db.reported_memory + SOON {
            self.keep_within_budget(index);
        }
    }

    /// Updates the memory of connections to shards and of requests that wait for a primary. Called
    /// at each tick.
    pub fn update_other_memory(&mut self) {
        let Upstream { dbs, backends, .. } = &mut self.upstream;
        for db in dbs.iter_mut() {
            db.other_memory = db.parked.memory() as i64;
        }
        for id in backends.arena.ids() {
            if let Some(backend) = backends.arena.get(id) {
                dbs[backend.db].other_memory += backend.memory() as i64;
            }
        }
        for db in self.upstream.dbs.indexes() {
            self.keep_within_budget(db);
        }
    }

    fn keep_within_budget(&mut self, db: usize) {
        let Upstream { dbs, reports, .. } = &mut self.upstream;
        dbs[db].report_memory(reports);
        let mut excess = reports.budget.excess(&dbs[db].connections.memory);
        while excess > 0 {
            let Some((id, memory)) = self.clients.heaviest(db).filter(|(_, memory)| *memory >= SMALL) else {
                return;
            };
            self.upstream.dbs[db].stats.failed(Failure::Memory);
            self.close_client(id);
            self.upstream.dbs[db].report_memory(&self.upstream.reports);
            excess = excess.saturating_sub(memory as u64);
        }
    }
}
