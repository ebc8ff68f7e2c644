//! Work that depends on time, executed fifty times a second.

use crate::arena::Id;
use crate::worker::Worker;
use crate::worker::schedule::TICK;
use crate::worker::upstream::db::Db;

/// Time in microseconds that a former primary has to answer pending requests.
const DEMOTED: u64 = 500_000;
/// Time after which an unused connection is closed: of an identity without clients, or in the pool.
const UNUSED: u64 = 10_000_000;
/// Number of ticks between two checks of clients and of unused memory.
const SELDOM: u64 = 50;

impl Worker {
    pub fn tick(&mut self) {
        self.schedule.start_tick(self.upstream.io.now);
        for db in self.upstream.dbs.indexes() {
            self.upstream.send_canaries(db, self.schedule.is_draining());
            let Db { parked, retry_at, .. } = &self.upstream.dbs[db];
            if !parked.is_empty() && *retry_at <= self.upstream.io.now {
                self.retry_parked(db);
            }
        }
        self.close_half_closed();
        for id in self.upstream.backends.arena.ids() {
            self.check_backend(id);
        }
        self.update_other_memory();
        if (self.upstream.io.now / TICK) % SELDOM == 0 {
            for id in self.clients.arena.ids() {
                self.check_client(id);
            }
            for db in self.upstream.dbs.iter_mut() {
                db.remove_unused_identities();
            }
            self.upstream.remove_finished_dbs();
            self.finish_if_due();
        }
    }

    fn check_client(&mut self, id: Id) {
        let Some(mut client) = self.clients.arena.take(id) else { return };
        client.release_unused_memory();
        if client.dedicated.is_some() {
            self.upstream.return_to_pool(&mut client);
        }
        self.clients.arena.put_back(id, client);
        let Some(client) = self.clients.arena.get(id) else { return };
        let db = &self.upstream.dbs[client.db];
        let over = |since: u64, millis: u64| millis > 0 && since + millis * 1_000 < self.upstream.io.now;
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
        let Some(backend) = self.upstream.backends.arena.get_mut(id) else { return };
        backend.release_unused_memory();
        let idle = backend.inflight.is_empty();
        let is_wanted = !backend.is_pooled
            && (backend.owner.is_some()
                || backend.identity < 2 && backend.lane == 0
                || self.upstream.dbs[backend.db].identities[backend.identity].clients > 0);
        let unused = !is_wanted && backend.used_at + UNUSED < self.upstream.io.now;
        let demoted = backend.demoted_at.is_some_and(|since| since + DEMOTED < self.upstream.io.now);
        if !backend.is_open()
            && backend.used_at + self.upstream.dbs[backend.db].failover_wait() < self.upstream.io.now
        {
            // The machine does not even refuse connections.
            self.lost(id);
        } else if is_silent {
            self.close_unresponsive(id);
        } else if idle
            && (unused || (backend.demoted_at.is_some() || backend.is_outdated) && backend.owner.is_none())
        {
            self.upstream.discard(id);
        } else if demoted {
            self.lost(id);
        }
    }

    /// Whether a shard has sent nothing for too long although it owes replies. Clients with
    /// blocking commands may wait indefinitely.
    fn is_unresponsive(&mut self, id: Id) -> bool {
        let Some(backend) = self.upstream.backends.arena.get_mut(id) else { return false };
        if backend.inflight.is_empty() {
            backend.silent_since = None;
            return false;
        }
        if backend.is_suspended {
            return false; // reading is suspended
        }
        let since = *backend.silent_since.get_or_insert(self.upstream.io.now);
        if backend.used_at > since {
            backend.silent_since = Some(self.upstream.io.now);
            return false;
        }
        self.upstream.dbs[backend.db]
            .request_timeout()
            .is_some_and(|timeout| since + timeout < self.upstream.io.now)
            && !backend
                .owner
                .and_then(|owner| self.clients.arena.get(owner))
                .is_some_and(|client| client.blocked)
    }
}
