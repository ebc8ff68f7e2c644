//! Requests on dedicated connections, and the choice between these and shared ones.

use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use crate::reply_safety::Risk;
use crate::worker::clients::client::Client;
use crate::worker::clients::join::{Join, Kind};
use crate::worker::clients::reply::Answer;
use crate::worker::types::errors::NO_PRIMARY;
use crate::worker::types::request::{Flow, Pending, Purpose, pending};
use crate::worker::upstream::Upstream;
use resp::Args;

impl Upstream {
    /// Handles a request of a client with dedicated connections.
    pub fn dispatch_dedicated(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let Some(dedicated) = client.dedicated.as_deref() else { return Flow::Defer };
        let relayed = dedicated.monitors
            || !dedicated.subscriptions.is_empty() && !self.dbs[client.db].is_resp3(client);
        if relayed && !matches!(command.handling, Handling::Quit | Handling::Reset) {
            return self.dispatch_relayed(id, client, command, args);
        }
        if dedicated.transaction.is_some() {
            return self.queue_command(id, client, command, args);
        }
        if dedicated.last_was_dedicated && !dedicated.tracking.is_on() {
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
    pub fn route(&mut self, id: Id, client: &mut Client, bytes: &[u8], pending: Pending) {
        let pending = Pending { risk: client.risk, ..pending };
        match &client.dedicated {
            Some(dedicated) if dedicated.tracking.is_on() => {
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
    pub fn send_dedicated(&mut self, id: Id, client: &mut Client, bytes: &[u8], pending: Pending) {
        let dedicated = client.dedicated.get_or_insert_default();
        dedicated.last_was_dedicated = true;
        dedicated.risk = dedicated.risk.max(client.risk);
        let target = self.dbs[client.db].topology.owner(pending.slot);
        match target.and_then(|target| self.dedicated_to(id, client, target)) {
            Some(backend) => client.congested = self.enqueue(backend, bytes, pending),
            None => {
                client.topology_version = self.dbs[client.db].topology_version.wrapping_sub(1);
                self.dbs[client.db].park(self.io.now, client.identity, true, bytes, pending, NO_PRIMARY);
            }
        }
    }

    /// Sends WAIT to all shards and returns the smallest number. A connection must have executed a
    /// command to have an offset to wait for. The preceding PING provides it, and includes every
    /// write that was acknowledged before. After a failover this may not be sufficient: then
    /// `deliver` returns 0.
    pub fn wait(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
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
