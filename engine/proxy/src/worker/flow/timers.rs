//! Work that depends on time, executed fifty times a second.

use crate::arena::Id;
use crate::worker::upstream::db::Db;
use crate::worker::{TICK, Worker};

/// Time in microseconds that a former primary has to answer pending requests.
const DEMOTED: u64 = 500_000;
/// Time after which an unused connection is closed: of an identity without clients, or in the pool.
const UNUSED: u64 = 10_000_000;
/// Number of ticks between two checks of clients and of unused memory.
const SELDOM: u64 = 50;

impl Worker {
    pub fn tick(&mut self) {
        self.next_tick = self.io.now + TICK;
        for db in 0..self.dbs.len() {
            self.send_canaries(db);
            if !self.dbs[db].parked.is_empty() && self.dbs[db].retry_at <= self.io.now {
                self.retry_parked(db);
            }
        }
        for id in self.backends.arena.ids() {
            self.check_backend(id);
        }
        self.update_other_memory();
        if (self.io.now / TICK) % SELDOM == 0 {
            for id in self.clients.ids() {
                self.check_client(id);
            }
            for db in &mut self.dbs {
                db.remove_unused_identities();
            }
            self.remove_finished_dbs();
            self.finish_if_due();
        }
    }

    fn check_client(&mut self, id: Id) {
        let Some(mut client) = self.clients.take(id) else { return };
        client.release_unused_memory();
        if client.dedicated.is_some() {
            self.return_to_pool(&mut client);
        }
        self.clients.put_back(id, client);
        let Some(client) = self.clients.get(id) else { return };
        let db = &self.dbs[client.db];
        let over = |since: u64, millis: u64| millis > 0 && since + millis * 1_000 < self.io.now;
        let is_unauthenticated = db.identities[client.identity].noauth;
        let is_idle = client.is_drained() && !client.output.has_some() && !client.is_bound();
        if is_unauthenticated && over(client.since, db.config.login_timeout_ms)
            || is_idle && over(client.read_at, db.config.idle_timeout_ms)
        {
            self.close_client(id);
        }
    }

    fn check_backend(&mut self, id: Id) {
        let is_silent = self.is_unresponsive(id);
        let Some(backend) = self.backends.arena.get_mut(id) else { return };
        backend.release_unused_memory();
        let idle = backend.inflight.is_empty();
        let is_wanted = !backend.is_pooled
            && (backend.owner.is_some()
                || backend.identity < 2 && backend.lane == 0
                || self.dbs[backend.db].identities[backend.identity].clients > 0);
        let unused = !is_wanted && backend.used_at + UNUSED < self.io.now;
        let demoted = backend.demoted_at.is_some_and(|since| since + DEMOTED < self.io.now);
        if !backend.is_open() && backend.used_at + self.dbs[backend.db].failover_wait() < self.io.now {
            // The machine does not even refuse connections.
            self.lost(id);
        } else if is_silent {
            self.close_unresponsive(id);
        } else if idle
            && (unused || (backend.demoted_at.is_some() || backend.is_outdated) && backend.owner.is_none())
        {
            self.discard(id);
        } else if demoted {
            self.lost(id);
        }
    }

    /// Whether a shard has sent nothing for too long although it owes replies. Clients with
    /// blocking commands may wait indefinitely.
    fn is_unresponsive(&mut self, id: Id) -> bool {
        let Some(backend) = self.backends.arena.get_mut(id) else { return false };
        if backend.inflight.is_empty() {
            backend.silent_since = None;
            return false;
        }
        if backend.is_suspended {
            return false; // reading is suspended
        }
        let since = *backend.silent_since.get_or_insert(self.io.now);
        if backend.used_at > since {
            backend.silent_since = Some(self.io.now);
            return false;
        }
        self.dbs[backend.db].request_timeout().is_some_and(|timeout| since + timeout < self.io.now)
            && !backend.owner.and_then(|owner| self.clients.get(owner)).is_some_and(|client| client.blocked)
    }

    /// Closes the connections of removed databases without clients, and then frees the databases.
    fn remove_finished_dbs(&mut self) {
        for db in 0..self.dbs.len() {
            let is_over = |db: &Db| {
                let is_unused = db.identities.iter().all(|identity| identity.is_unused());
                db.leaving && is_unused && db.parked.is_empty() && db.stats.is_empty()
            };
            let is_used = |id: &Id| self.backends.arena.get(*id).is_some_and(|backend| backend.db == db);
            if !self.dbs[db].is_free
                && is_over(&self.dbs[db])
                && !self.backends.arena.ids().iter().any(is_used)
            {
                self.dbs[db].free();
            }
        }
        for id in self.backends.arena.ids() {
            let Some(backend) = self.backends.arena.get(id) else { continue };
            let db = &self.dbs[backend.db];
            if db.leaving && db.identities.iter().all(|identity| identity.clients == 0) {
                self.discard(id);
            }
        }
    }
}
