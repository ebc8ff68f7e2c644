//! Lost connections to shards: what happens to their requests and clients.

use crate::arena::Id;
use crate::command::Class;
use crate::stats::Failure;
use crate::worker::Worker;
use crate::worker::types::errors::{LOST, LOST_READ, NO_PRIMARY, SILENT};
use crate::worker::types::request::{Purpose, RequestResult};
use crate::worker::upstream::backend::Backend;

impl Worker {
    /// Handles the loss of a connection to a shard. Requests that were not sent wait for a primary.
    /// Requests that the shard has received are not repeated, whether they read or write, because
    /// they may have caused the failure. Their clients receive an error.
    pub fn lost(&mut self, id: Id) {
        let is_desynchronized =
            self.upstream.backends.arena.get(id).is_some_and(|backend| backend.is_desynchronized);
        self.end_backend(id, if is_desynchronized { Failure::Protocol } else { Failure::Reset }, LOST);
    }

    /// Closes a connection to a shard that does not answer. The shard may have executed its
    /// requests, so they are not repeated.
    pub fn close_unresponsive(&mut self, id: Id) {
        self.end_backend(id, Failure::Timeout, SILENT);
    }

    fn end_backend(&mut self, id: Id, why: Failure, error: &[u8]) {
        let Some(mut backend) = self.upstream.backends.arena.remove(id) else { return };
        self.upstream.io.poll.remove(backend.stream.fd());
        let (db, identity, target) = (backend.db, backend.identity, backend.target);
        if backend.is_open() {
            self.upstream.dbs[db].stats.failed(why);
        } else {
            self.upstream.refused(db, target);
        }
        if backend.owner.is_none() || !backend.inflight.is_empty() {
            self.upstream.dbs[db].topology_version = self.upstream.dbs[db].topology_version.wrapping_add(1);
        }
        self.upstream.dbs[db].disconnect(&backend, id);
        if let Some(reply) = backend.long_reply {
            // The client has received the start of a reply that cannot be completed.
            self.close_client(reply.client);
        }
        let rejected = self.upstream.dbs[db].identities[identity].rejected.take();
        let in_transaction = backend.in_transaction && backend.is_open();
        // A shard that sent invalid data is running, and can be reached immediately.
        if backend.is_open() && backend.owner.is_none() && rejected.is_none() && !backend.is_desynchronized {
            self.upstream.start_outage(db, target, false);
        }
        let mut opening = Vec::new();
        for (pending, bytes, seen) in backend.unanswered() {
            if pending.purpose == Purpose::Commands {
                self.upstream.dbs[db].commands.reset_query();
            }
            if pending.purpose == Purpose::Probe {
                self.deliver_unverified(&mut backend);
                continue;
            }
            if pending.purpose == Purpose::Canary {
                self.upstream.canary_lost(db, target, pending.slot, rejected.is_some());
            }
            if pending.purpose != Purpose::Reply {
                // A MULTI that was never sent goes with the next command.
                if backend.in_transaction && !backend.is_open() && pending.purpose == Purpose::Ignore {
                    opening.push(bytes);
                }
                continue;
            }
            let seen = seen && backend.is_open();
            if let Some(rejection) = &rejected {
                self.deliver_failure(db, &pending, RequestResult::Failed, rejection);
            } else if in_transaction || seen {
                let is_read = pending.class == Class::Read && why != Failure::Timeout;
                let result = if seen { RequestResult::Lost } else { RequestResult::Failed };
                self.deliver_failure(db, &pending, result, if is_read { LOST_READ } else { error });
                if seen {
                    self.answer_earlier(db, &pending);
                }
            } else {
                self.block_later_requests(db, &pending);
                let now = self.upstream.io.now;
                let is_dedicated = backend.owner.is_some();
                let parked =
                    self.upstream.dbs[db].park(now, identity, is_dedicated, &bytes, pending, NO_PRIMARY);
                parked.opening = std::mem::take(&mut opening);
            }
        }
        // Requests that were never sent leave no state on the shard.
        backend.is_bound &= backend.is_open();
        self.upstream.backends.uncongested.append(&mut backend.waiting);
        if let Some(owner) = backend.owner {
            self.lost_dedicated(owner, id, &backend);
        }
    }

    /// Handles the loss of a dedicated connection.
    fn lost_dedicated(&mut self, owner: Id, id: Id, backend: &Backend) {
        let Some(client) = self.clients.arena.get_mut(owner) else { return };
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
        let is_resp3 = self.upstream.dbs[client.db].is_resp3(client);
        let Some(dedicated) = client.dedicated.as_deref() else { return };
        if dedicated.tracking.is_on() && is_resp3 {
            // Invalidations may have been missed, so all cached keys are invalidated.
            client.output.push_message(b">2\r\n$10\r\ninvalidate\r\n_\r\n");
            self.clients.mark_progress(owner);
        }
    }
}
