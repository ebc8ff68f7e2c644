//! Dedicated connections: for transactions, blocking commands, subscriptions, MONITOR and tracking.
//! They are opened on demand and used by one client only. A connection without state of its client
//! remains available to the next client with the same identity for some time. Otherwise it is
//! closed with the client.

use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use crate::reply_safety::Risk;
use crate::topology::TargetNumber;
use crate::worker::Worker;
use crate::worker::backend::Backend;
use crate::worker::client::Client;
use crate::worker::join::{Join, Kind};
use crate::worker::output::Answer;
use crate::worker::pubsub::Subscription;
use crate::worker::transaction::Transaction;
use crate::worker::types::errors::NO_PRIMARY;
use crate::worker::types::request::{Flow, Pending, Purpose, pending};
use resp::Args;

/// Maximum number of pooled connections per identity.
const POOLED: usize = 64;

#[derive(Debug, Default)]
pub struct DedicatedConnections {
    connections: Vec<(TargetNumber, Id)>,
    pub(super) transaction: Option<Transaction>,
    /// The slot of the watched keys.
    pub(super) watching: Option<u16>,
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) monitors: bool,
    /// Whether MONITOR has been answered.
    pub(super) monitor_answered: bool,
    /// The CLIENT TRACKING request, which is repeated on each new connection.
    pub(super) tracking: Option<Vec<u8>>,
    /// CLIENT CACHING, which applies to the next command on any connection.
    pub(super) caching: Option<Vec<u8>>,
    /// The highest risk of all requests on its connections, which may have received surplus
    /// replies.
    pub(super) risk: Risk,
    /// Whether the last request used a dedicated connection. A request on a shared one must not
    /// overtake it.
    pub(super) last_was_dedicated: bool,
}

impl DedicatedConnections {
    pub(super) fn connection(&self, target: TargetNumber) -> Option<Id> {
        self.connections.iter().find(|(to, _)| *to == target).map(|(_, backend)| *backend)
    }

    /// Whether the connections hold state of the client.
    pub(super) fn is_bound(&self) -> bool {
        self.transaction.is_some()
            || self.watching.is_some()
            || !self.subscriptions.is_empty()
            || self.monitors
            || self.tracking.is_some()
    }

    pub(super) fn is_queueing(&self) -> bool {
        self.transaction.is_some()
    }

    /// Returns the memory of its transaction, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.transaction.as_ref().map_or(0, Transaction::memory)
    }

    pub(super) fn all_connections(&self) -> Vec<Id> {
        self.connections.iter().map(|(_, backend)| *backend).collect()
    }
}

impl Worker {
    /// Handles a request of a client with dedicated connections.
    pub(super) fn dispatch_dedicated(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let Some(dedicated) = client.dedicated.as_deref() else { return Flow::Defer };
        let relayed = dedicated.monitors || !dedicated.subscriptions.is_empty() && !self.is_resp3(client);
        if relayed && !matches!(command.handling, Handling::Quit | Handling::Reset) {
            return self.dispatch_relayed(id, client, command, args);
        }
        if dedicated.transaction.is_some() {
            return self.queue_command(id, client, command, args);
        }
        if dedicated.last_was_dedicated && dedicated.tracking.is_none() {
            if !client.is_drained() {
                return Flow::Defer;
            }
            if let Some(dedicated) = &mut client.dedicated {
                dedicated.last_was_dedicated = false;
            }
            self.return_to_pool(client);
        }
        self.dispatch_command(id, client, command, args)
    }

    /// Sends a request on the shared connection, or on the dedicated one while the engine tracks
    /// what the client reads.
    #[inline]
    pub(super) fn route(&mut self, id: Id, client: &mut Client, bytes: &[u8], pending: Pending) {
        let pending = Pending { risk: client.risk, ..pending };
        match &client.dedicated {
            Some(dedicated) if dedicated.tracking.is_some() => {
                if let Some(caching) = dedicated.caching.clone() {
                    self.send_dedicated(
                        id,
                        client,
                        &caching,
                        Pending { slot: pending.slot, ..Pending::internal(Purpose::Ignore) },
                    );
                }
                self.send_dedicated(id, client, bytes, pending)
            }
            _ if client.risk == Risk::Unsafe => {
                self.send_dedicated(id, client, bytes, pending);
                client.blocked = true;
            }
            _ => self.send(client, bytes, pending),
        }
    }

    /// Sends a request on a dedicated connection to the owner of the slot.
    pub(super) fn send_dedicated(&mut self, id: Id, client: &mut Client, bytes: &[u8], pending: Pending) {
        let dedicated = client.dedicated.get_or_insert_default();
        dedicated.last_was_dedicated = true;
        dedicated.risk = dedicated.risk.max(client.risk);
        let target = self.dbs[client.db].topology.owner(pending.slot);
        match target.and_then(|target| self.dedicated_to(id, client, target)) {
            Some(backend) => client.congested = self.enqueue(backend, bytes, pending),
            None => {
                client.topology_version = self.dbs[client.db].topology_version.wrapping_sub(1);
                self.park(client.db, client.identity, true, bytes, pending, NO_PRIMARY);
            }
        }
    }

    pub(super) fn dedicated_to(&mut self, id: Id, client: &mut Client, target: TargetNumber) -> Option<Id> {
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
        if let Some(tracking) = dedicated.tracking.clone() {
            self.enqueue(backend, &tracking, Pending::internal(Purpose::Ignore));
        }
        Some(backend)
    }

    /// Does the same for a client that is not being handled now.
    pub(super) fn dedicated_for(&mut self, id: Id, target: TargetNumber) -> Option<Id> {
        let mut client = self.clients.take(id)?;
        let backend = self.dedicated_to(id, &mut client, target);
        self.clients.put_back(id, client);
        backend
    }

    pub(super) fn dedicated_again(&mut self, db: usize, pending: &Pending) -> Option<Id> {
        let target = self.dbs[db].topology.owner(pending.slot)?;
        self.dedicated_for(pending.reply_to.client, target)
    }

    /// Moves connections that the client no longer needs to the pool.
    pub(super) fn return_to_pool(&mut self, client: &mut Client) {
        let all = client.dedicated.as_deref().map(DedicatedConnections::all_connections).unwrap_or_default();
        let risk = client.dedicated.as_deref().map_or(Risk::None, |dedicated| dedicated.risk);
        let is_clean = |id: &Id| {
            self.backends.get(*id).is_none_or(|backend| backend.is_clean() || backend.is_risky(risk))
        };
        if client.is_bound() || !client.is_drained() || !all.iter().all(is_clean) {
            return;
        }
        let risk = client.dedicated.take().map_or(Risk::None, |dedicated| dedicated.risk);
        for id in all {
            let is_risky = self.backends.get(id).is_some_and(|backend| backend.is_risky(risk));
            let pool = &mut self.dbs[client.db].identities[client.identity].pool;
            if is_risky || pool.len() >= POOLED {
                self.discard(id);
            } else if let Some(backend) = self.backends.get_mut(id) {
                backend.owner = None;
                backend.is_pooled = true;
                backend.used_at = self.now;
                pool.push((backend.target, id));
            }
        }
    }

    fn take_pooled(&mut self, db: usize, identity: usize, target: TargetNumber, owner: Id) -> Option<Id> {
        let pool = &mut self.dbs[db].identities[identity].pool;
        let at = pool.iter().rposition(|(to, _)| *to == target)?;
        let (_, id) = pool.swap_remove(at);
        let backend = self.backends.get_mut(id)?;
        backend.is_pooled = false;
        backend.owner = Some(owner);
        Some(id)
    }

    /// Closes all dedicated connections of the client.
    pub(super) fn release_dedicated(&mut self, client: &mut Client) {
        let Some(dedicated) = client.dedicated.take() else { return };
        for (_, backend) in dedicated.connections {
            self.discard(backend);
        }
        for subscription in dedicated.subscriptions {
            self.discard(subscription.backend);
        }
    }

    /// Handles the loss of a dedicated connection.
    pub(super) fn lost_dedicated(&mut self, owner: Id, id: Id, backend: &Backend) {
        let Some(client) = self.clients.get_mut(owner) else { return };
        let Some(dedicated) = client.dedicated.as_deref_mut() else { return };
        dedicated.connections.retain(|(_, connection)| *connection != id);
        if backend.is_relayed {
            // Messages may have been missed, so the client must subscribe again.
            self.close_client(owner);
            return;
        }
        // The replies that were pending may have ended the transaction already.
        if backend.is_bound && (dedicated.transaction.is_some() || dedicated.watching.is_some()) {
            dedicated.watching = None;
            dedicated.transaction.get_or_insert_default().mark_lost();
        }
        if dedicated.tracking.is_some() {
            // Invalidations may have been missed, so all cached keys are invalidated.
            client.output.push_message(b">2\r\n$10\r\ninvalidate\r\n_\r\n");
            self.mark_progress(owner);
        }
    }

    /// Sends WAIT to all shards and returns the smallest number. A connection must have executed a
    /// command to have an offset to wait for. The preceding PING provides it, and includes every
    /// write that was acknowledged before. After a failover this may not be sufficient, see
    /// `confirmed`.
    pub(super) fn wait(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        let slots: Vec<_> = self.dbs[client.db].topology.representatives().collect();
        let join = Join::new(Kind::Minimum, slots.len().max(1));
        if slots.is_empty() {
            return self.forward_home(id, client, Class::Other, args.raw);
        }
        if let Some(unconfirmed) = &mut client.unconfirmed {
            unconfirmed.was_asked = true;
        }
        let number = client.expect(Class::Other, Answer::Joining(join));
        for (part, slot) in slots.into_iter().enumerate() {
            self.send_dedicated(
                id,
                client,
                b"*1\r\n$4\r\nPING\r\n",
                Pending { slot, ..Pending::internal(Purpose::Ignore) },
            );
            self.send_dedicated(id, client, args.raw, pending(id, number, part as u32, Class::Other, slot));
        }
        client.blocked = true;
        Flow::Next
    }
}
