//! Subscriptions and MONITOR: a dedicated connection whose data is forwarded to its client. Each
//! request is followed by a PING with a unique text; the reply to the PING marks the end of the
//! replies to the request, regardless of their number.

use crate::arena::Id;
use crate::command::{Command, Handling};
use crate::topology::TargetNumber;
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::Subscription;
use crate::worker::types::errors::NO_PRIMARY;
use crate::worker::types::request::{Flow, Pending, Purpose};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use resp::{Args, encode};

const MARK: &[u8] = b"shardboard-proxy: end of replies";

impl Upstream {
    pub fn subscribe(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        let db = &self.dbs[client.db];
        let sharded = command.name.starts_with('s') && command.name != "subscribe";
        let slot = match args.get(1) {
            Some(channel) if sharded => db.slot_of(channel),
            _ => db.topology.home(),
        };
        if !db.topology.is_local_slot(slot) {
            return db.redirect_client(client, command.class, slot);
        }
        let Some(target) = db.topology.owner(slot) else {
            client.reply(command.class, |out| out.extend_from_slice(NO_PRIMARY));
            return Flow::Next;
        };
        // Without a channel, the command applies to all channels of this type on all shards.
        let everywhere = sharded && args.len() == 1;
        let mut chosen = Vec::new();
        if let Some(dedicated) = client.dedicated.as_deref().filter(|_| everywhere) {
            chosen.extend(dedicated.subscriptions.iter().filter(|one| one.sharded > 0).map(|one| one.target));
        }
        if chosen.is_empty() {
            chosen.push(target);
        }
        for target in chosen {
            if !self.send_subscription(id, client, target, args.raw) {
                client.reply(command.class, |out| out.extend_from_slice(NO_PRIMARY));
            }
        }
        Flow::Next
    }

    fn send_subscription(&mut self, id: Id, client: &mut Client, target: TargetNumber, raw: &[u8]) -> bool {
        let Some(backend) = self.subscription(id, client, target) else { return false };
        let dedicated = client.dedicated.get_or_insert_default();
        if let Some(one) = dedicated.subscriptions.iter_mut().find(|one| one.backend == backend) {
            one.pings += 1;
        }
        let mut request = raw.to_vec();
        encode::command(&mut request, [b"PING", MARK].into_iter());
        self.backends.enqueue_raw(backend, &request);
        true
    }

    fn subscription(&mut self, id: Id, client: &mut Client, target: TargetNumber) -> Option<Id> {
        let dedicated = client.dedicated.get_or_insert_default();
        if let Some(one) = dedicated.subscriptions.iter().find(|one| one.target == target) {
            return Some(one.backend);
        }
        let backend = self.open_relayed(id, client, target)?;
        let one = Subscription { target, backend, plain: 0, sharded: 0, pings: 0 };
        client.dedicated.get_or_insert_default().subscriptions.push(one);
        Some(backend)
    }

    fn open_relayed(&mut self, id: Id, client: &Client, target: TargetNumber) -> Option<Id> {
        let backend = self.open(client.db, client.identity, target, Some(id))?;
        self.backends.arena.get_mut(backend)?.is_relayed = true;
        Some(backend)
    }

    /// Handles commands of a RESP2 client with subscriptions, or of a client with MONITOR, which
    /// use only that connection.
    pub fn dispatch_relayed(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let Some(dedicated) = client.dedicated.as_deref() else { return Flow::Defer };
        if dedicated.subscriptions.iter().any(|one| one.pings > 0) {
            return Flow::Defer;
        }
        if matches!(command.handling, Handling::Subscribe | Handling::Unsubscribe) && !dedicated.monitors {
            return self.subscribe(id, client, command, args);
        }
        let first = dedicated.subscriptions.first().map(|one| one.target);
        match first.filter(|_| command.handling == Handling::Ping || dedicated.monitors) {
            Some(target) => {
                self.send_subscription(id, client, target, args.raw);
            }
            None => {
                let text = format!(
                    "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed \
                     in this context",
                    String::from_utf8_lossy(args.get(0).unwrap_or_default()).to_lowercase(),
                );
                client.reply(command.class, |out| encode::error(out, &text));
            }
        }
        Flow::Next
    }

    pub fn monitor(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        let topology = &self.dbs[client.db].topology;
        let targets: Vec<_> = topology.representatives().filter_map(|slot| topology.owner(slot)).collect();
        for target in targets {
            let Some(backend) = self.open_relayed(id, client, target) else { continue };
            let dedicated = client.dedicated.get_or_insert_default();
            let first = !std::mem::replace(&mut dedicated.monitors, true);
            dedicated.subscriptions.push(Subscription { target, backend, plain: 0, sharded: 0, pings: 0 });
            match first {
                // The reply of the first shard is sent to the client.
                true => self.backends.enqueue_raw(backend, args.raw),
                false => {
                    self.enqueue(backend, args.raw, Pending::internal(Purpose::Ignore));
                }
            }
        }
        if client.dedicated.as_deref().is_none_or(|dedicated| !dedicated.monitors) {
            client.reply(crate::command::Class::Other, |out| out.extend_from_slice(NO_PRIMARY));
        }
        Flow::Next
    }

    /// Handles data on a dedicated connection that answers no request.
    pub fn relayed(&mut self, backend: &mut Backend, client: &mut Client, frame: &[u8]) {
        if let Some(dedicated) =
            client.dedicated.as_deref_mut().filter(|one| one.monitors && !one.monitor_answered)
        {
            // Output of another shard before the first one has answered precedes the client's
            // MONITOR.
            if dedicated.subscriptions.first().is_none_or(|first| first.target != backend.target) {
                return;
            }
            dedicated.monitor_answered = true;
        }
        let one = client.dedicated.as_deref_mut().and_then(|dedicated| {
            dedicated.subscriptions.iter_mut().find(|one| one.target == backend.target && backend.is_relayed)
        });
        let Some(one) = one else {
            client.output.push_message(frame);
            return;
        };
        if is_mark(frame) {
            one.pings -= 1;
            let done = one.pings == 0 && one.plain <= 0 && one.sharded <= 0;
            let dedicated = client.dedicated.as_deref_mut().filter(|dedicated| done && !dedicated.monitors);
            if let Some(dedicated) = dedicated {
                dedicated.subscriptions.retain(|one| one.target != backend.target);
                // Closed by the next tick, because the worker is reading from it now.
                backend.demoted_at = Some(0);
                backend.owner = None;
            }
            return;
        }
        match counted(frame) {
            Some((b"subscribe" | b"unsubscribe" | b"psubscribe" | b"punsubscribe", n)) => one.plain = n,
            Some((b"ssubscribe" | b"sunsubscribe", n)) => one.sharded = n,
            _ => {}
        }
        client.output.push_message(frame);
    }
}

/// Whether the frame is the reply to a PING of the proxy: a bulk string, or `pong` and the string
/// for RESP2 clients with subscriptions.
fn is_mark(frame: &[u8]) -> bool {
    match resp::text(frame) {
        Some(text) => text == MARK,
        None => {
            resp::items(frame).is_some_and(|items| items.len() == 2 && resp::text(items[1]) == Some(MARK))
        }
    }
}

/// Parses `kind, channel, count` into kind and count.
fn counted(frame: &[u8]) -> Option<(&[u8], i64)> {
    match resp::items(frame)?[..] {
        [kind, _, count] if count.first() == Some(&b':') => Some((resp::text(kind)?, resp::integer(count)?)),
        _ => None,
    }
}
