//! Subscriptions and MONITOR: a dedicated connection whose data is forwarded to its client. Each
//! request is followed by a PING with a unique text; the reply to the PING marks the end of the
//! replies to the request, regardless of their number.

use crate::arena::Id;
use crate::command::{Command, Handling};
use crate::control::Mode;
use crate::topology::TargetNumber;
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::{Subscription, SubscriptionRequest};
use crate::worker::types::errors::{NO_PRIMARY, UNSETTLED};
use crate::worker::types::request::{Flow, MAX_REDIRECTS, Pending, Purpose, To};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use resp::{Args, encode};
use std::borrow::Cow;

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
            let request = SubscriptionRequest { raw: args.raw.to_vec(), redirects: 0 };
            if !self.send_subscription(id, client, target, request) {
                client.reply(command.class, |out| out.extend_from_slice(NO_PRIMARY));
            }
        }
        Flow::Next
    }

    fn send_subscription(
        &mut self,
        id: Id,
        client: &mut Client,
        target: TargetNumber,
        request: SubscriptionRequest,
    ) -> bool {
        let Some(backend) = self.subscription(id, client, target) else { return false };
        let dedicated = client.dedicated.get_or_insert_default();
        let mut bytes = request.raw.clone();
        if let Some(one) = dedicated.subscriptions.iter_mut().find(|one| one.backend == backend) {
            encode::command(&mut bytes, [&b"PING"[..], &one.mark].into_iter());
            one.pending.push_back(request);
        }
        self.backends.enqueue_raw(backend, &bytes);
        true
    }

    fn subscription(&mut self, id: Id, client: &mut Client, target: TargetNumber) -> Option<Id> {
        let dedicated = client.dedicated.get_or_insert_default();
        if let Some(one) = dedicated.subscriptions.iter().find(|one| one.target == target) {
            return Some(one.backend);
        }
        let backend = self.open_relayed(id, client, target)?;
        let one = Subscription::new(target, backend);
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
        if dedicated.is_subscribing() {
            return Flow::Defer;
        }
        if matches!(command.handling, Handling::Subscribe | Handling::Unsubscribe) && !dedicated.monitors {
            return self.subscribe(id, client, command, args);
        }
        let first = dedicated.subscriptions.first().map(|one| one.target);
        match first.filter(|_| command.handling == Handling::Ping) {
            Some(target) => {
                let request = SubscriptionRequest { raw: args.raw.to_vec(), redirects: 0 };
                self.send_subscription(id, client, target, request);
            }
            // The connection is not shared, but other requests could concern the shard or others.
            None if dedicated.monitors => {
                let text = "ERR Replica can't interact with the keyspace";
                client.reply(command.class, |out| encode::error(out, text));
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
            dedicated.subscriptions.push(Subscription::new(target, backend));
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

    /// Ends MONITOR after a shard has rejected it, so that the client can send other requests again.
    fn monitor_refused(&mut self, backend: &mut Backend, client: &mut Client) {
        let Some(dedicated) = client.dedicated.as_deref_mut() else { return };
        dedicated.monitors = false;
        dedicated.monitor_answered = false;
        let (kept, ended): (Vec<_>, Vec<_>) = std::mem::take(&mut dedicated.subscriptions)
            .into_iter()
            .partition(|one| one.plain > 0 || one.sharded > 0 || !one.pending.is_empty());
        dedicated.subscriptions = kept;
        // Closed by the next tick, because the worker is reading from one of them now.
        backend.demoted_at = Some(0);
        backend.owner = None;
        for one in ended {
            if let Some(other) = self.backends.arena.get_mut(one.backend) {
                other.demoted_at = Some(0);
                other.owner = None;
            }
        }
    }

    /// Handles data on a dedicated connection that answers no request.
    pub fn relayed(&mut self, backend: &mut Backend, client: &mut Client, frame: &[u8]) {
        let is_resp3 = self.dbs[client.db].is_resp3(client);
        let is_hidden = self.dbs[client.db].config.mode == Mode::Hidden;
        if let Some(dedicated) =
            client.dedicated.as_deref_mut().filter(|one| one.monitors && !one.monitor_answered)
        {
            // Output of another shard before the first one has answered precedes the client's
            // MONITOR.
            if dedicated.subscriptions.first().is_none_or(|first| first.target != backend.target) {
                return;
            }
            dedicated.monitor_answered = true;
            if frame[0] == b'-' {
                self.monitor_refused(backend, client);
                return client.output.push_message(frame);
            }
        }
        let one = client.dedicated.as_deref_mut().and_then(|dedicated| {
            dedicated.subscriptions.iter_mut().find(|one| one.target == backend.target && backend.is_relayed)
        });
        let Some(one) = one else {
            // The engine sends no invalidations to RESP2 clients.
            if is_resp3 {
                client.output.push_message(frame);
            }
            return;
        };
        if !one.pending.is_empty() && is_mark(frame, &one.mark) {
            one.pending.pop_front();
            let done = one.pending.is_empty() && one.plain <= 0 && one.sharded <= 0;
            let dedicated = client.dedicated.as_deref_mut().filter(|dedicated| done && !dedicated.monitors);
            if let Some(dedicated) = dedicated {
                dedicated.subscriptions.retain(|one| one.target != backend.target);
                // Closed by the next tick, because the worker is reading from it now.
                backend.demoted_at = Some(0);
                backend.owner = None;
            }
            return;
        }
        if frame[0] == b'-' {
            let request = one.pending.front().map(|one| (one.raw.clone(), one.redirects));
            return self.subscription_refused(backend, client, request, frame);
        }
        if is_hidden && left_channel(frame).is_some_and(|channel| !one.is_leaving(channel)) {
            // The slot of the channel has moved. Messages may already have been published at its new
            // owner, so the client must notice that it may have missed some.
            client.closing = true;
            return;
        }
        match counted(frame) {
            Some((b"subscribe" | b"unsubscribe" | b"psubscribe" | b"punsubscribe", n)) => one.plain = n,
            Some((b"ssubscribe" | b"sunsubscribe", n)) => one.sharded = n,
            _ => {}
        }
        let is_reply = client.dedicated.as_deref().is_some_and(|dedicated| dedicated.monitors);
        match is_reply {
            true => client.output.push_message(frame),
            false => client.output.push_message(&in_protocol(frame, is_resp3)),
        }
    }

    /// Follows the redirection of a request for sharded channels, or returns the error to the
    /// client.
    #[cold]
    fn subscription_refused(
        &mut self,
        backend: &Backend,
        client: &mut Client,
        request: Option<(Vec<u8>, u8)>,
        frame: &[u8],
    ) {
        let Some(((raw, redirects), id)) =
            request.filter(|_| frame.starts_with(b"-MOVED ")).zip(backend.owner)
        else {
            client.output.push_message(frame);
            return;
        };
        let Self { dbs, io, reports, .. } = self;
        let db = &mut dbs[client.db];
        let channel = resp::items(&raw).and_then(|args| resp::text(args.get(1)?)).unwrap_or_default();
        let slot = db.slot_of(channel);
        let moved = Pending { slot, ..Pending::internal(Purpose::Ignore) };
        let is_followed = db.destination(io, reports, backend, &moved, frame) == Some(To::Owner);
        let owner = db.topology.owner(slot).filter(|&owner| is_followed && owner != backend.target);
        let request = SubscriptionRequest { redirects: redirects + 1, raw };
        let owner = owner.filter(|_| redirects < MAX_REDIRECTS);
        if !owner.is_some_and(|owner| self.send_subscription(id, client, owner, request)) {
            client.output.push_message(UNSETTLED);
        }
    }
}

/// Returns the message in the protocol of the client, which it may just have changed. The parts of
/// a message are the same in both.
fn in_protocol(frame: &[u8], is_resp3: bool) -> Cow<'_, [u8]> {
    let start = match (frame[0], is_resp3) {
        (b'>', false) => b'*',
        (b'*', true) => b'>',
        _ => return Cow::Borrowed(frame),
    };
    Cow::Owned([&[start], &frame[1..]].concat())
}

/// Whether the frame is the reply to a PING of the proxy: a bulk string, or `pong` and the string
/// for RESP2 clients with subscriptions.
fn is_mark(frame: &[u8], mark: &[u8]) -> bool {
    match resp::text(frame) {
        Some(text) => text == mark,
        None => {
            resp::items(frame).is_some_and(|items| items.len() == 2 && resp::text(items[1]) == Some(mark))
        }
    }
}

/// Returns the sharded channel that the client is no longer subscribed to after this message.
fn left_channel(frame: &[u8]) -> Option<&[u8]> {
    match resp::items(frame)?[..] {
        [kind, channel, _] if resp::text(kind) == Some(b"sunsubscribe") => resp::text(channel),
        _ => None,
    }
}

/// Parses `kind, channel, count` into kind and count.
fn counted(frame: &[u8]) -> Option<(&[u8], i64)> {
    match resp::items(frame)?[..] {
        [kind, _, count] if count.first() == Some(&b':') => Some((resp::text(kind)?, resp::integer(count)?)),
        _ => None,
    }
}
