//! Dedicated connections: opened, pooled and closed. Obsolete connections are closed as well.

use crate::arena::Id;
use crate::reply_safety::Risk;
use crate::topology::TargetNumber;
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::DedicatedConnections;
use crate::worker::types::request::{Pending, Purpose};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use crate::worker::upstream::db::Db;

/// Maximum number of pooled connections per identity.
const POOLED: usize = 64;

/// Number of identities without a login, one for each protocol. They are the first ones of a
/// database.
const ANONYMOUS: usize = 2;

impl Db {
    /// Removes a connection that no longer exists.
    pub fn disconnect(&mut self, backend: &Backend, id: Id) {
        let identity = &mut self.identities[backend.identity];
        if backend.is_pooled {
            identity.pool.retain(|(_, pooled)| *pooled != id);
        }
        if identity.connection(backend.lane, backend.target) == Some(id) {
            identity.set_connection(backend.lane, backend.target, None);
        }
    }
}

impl Upstream {
    pub fn dedicated_to(&mut self, id: Id, client: &mut Client, target: TargetNumber) -> Option<Id> {
        let dedicated = client.dedicated.get_or_insert_default();
        if let Some(backend) = dedicated.connection(target) {
            return Some(backend);
        }
        let backend = match self.take_pooled(client.db, client.identity, target, id) {
            Some(backend) => backend,
            None => self.open(client.db, client.identity, target, Some(id))?,
        };
        let dedicated = client.dedicated.get_or_insert_default();
        dedicated.connections.push((target, backend));
        for request in &dedicated.tracking.requests {
            self.backends.enqueue(&self.io, backend, request, Pending::internal(Purpose::Ignore));
        }
        Some(backend)
    }

    /// Moves connections that the client no longer needs to the pool.
    pub fn return_to_pool(&mut self, client: &mut Client) {
        let all = client.dedicated.as_deref().map(DedicatedConnections::all_connections).unwrap_or_default();
        let risk = client.dedicated.as_deref().map_or(Risk::None, |dedicated| dedicated.risk);
        let is_clean = |id: &Id| {
            self.backends.arena.get(*id).is_none_or(|backend| backend.is_clean() || backend.is_risky(risk))
        };
        if client.is_bound() || !client.is_drained() || !all.iter().all(is_clean) {
            return;
        }
        let risk = client.dedicated.take().map_or(Risk::None, |dedicated| dedicated.risk);
        for id in all {
            let is_risky = self.backends.arena.get(id).is_some_and(|backend| backend.is_risky(risk));
            let pool = &mut self.dbs[client.db].identities[client.identity].pool;
            if is_risky || pool.len() >= POOLED {
                self.discard(id);
            } else if let Some(backend) = self.backends.arena.get_mut(id) {
                backend.owner = None;
                backend.is_pooled = true;
                backend.used_at = self.io.now;
                pool.push((backend.target, id));
            }
        }
    }

    fn take_pooled(&mut self, db: usize, identity: usize, target: TargetNumber, owner: Id) -> Option<Id> {
        let pool = &mut self.dbs[db].identities[identity].pool;
        let at = pool.iter().rposition(|(to, _)| *to == target)?;
        let (_, id) = pool.swap_remove(at);
        let backend = self.backends.arena.get_mut(id)?;
        backend.is_pooled = false;
        backend.owner = Some(owner);
        Some(id)
    }

    /// Closes all dedicated connections of the client.
    pub fn release_dedicated(&mut self, client: &mut Client) {
        let Some(dedicated) = client.dedicated.take() else { return };
        for (_, backend) in dedicated.connections {
            self.discard(backend);
        }
        for subscription in dedicated.subscriptions {
            self.discard(subscription.backend);
        }
    }

    /// Closes a connection that is no longer needed.
    pub fn discard(&mut self, id: Id) {
        let Some(backend) = self.backends.arena.remove(id) else { return };
        self.io.poll.remove(backend.stream.fd());
        self.dbs[backend.db].disconnect(&backend, id);
        self.backends.uncongested.extend(backend.waiting);
    }

    /// Marks connections to former primaries after a change of the shards: they receive no new
    /// requests, and limited time to answer pending ones.
    pub fn demote_backends(&mut self, db: usize) {
        for id in self.backends.arena.ids() {
            let Some(backend) = self.backends.arena.get_mut(id).filter(|backend| backend.db == db) else {
                continue;
            };
            let primary = self.dbs[db].topology.targets[usize::from(backend.target)].primary;
            backend.demoted_at = (!primary).then_some(backend.demoted_at.unwrap_or(self.io.now));
        }
    }

    /// Discards the connections without a login, because the password of the default user has been
    /// changed or removed. A shard determines again whether a login is required. Clients that have
    /// logged in stay logged in, as with the engine.
    pub fn discard_anonymous_connections(&mut self, db: usize) {
        for identity in &mut self.dbs[db].identities[..ANONYMOUS] {
            identity.noauth = false;
            identity.rejected = None;
            identity.connections.clear();
            identity.pool.clear();
        }
        for id in self.backends.arena.ids() {
            let Some(backend) = self.backends.arena.get_mut(id) else { continue };
            if backend.db == db && backend.identity < ANONYMOUS {
                backend.is_outdated = true;
                backend.is_pooled = false;
            }
        }
    }

    /// Closes the connections of removed databases without clients, and then frees the databases.
    pub fn remove_finished_dbs(&mut self) {
        for db in self.dbs.indexes() {
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
