//! Redirections, temporary failures and lost connections: which requests are sent again.

use crate::arena::Id;
use crate::command::Class;
use crate::control::Report;
use crate::event::Event;
use crate::poll::Interest;
use crate::stats::Failure;
use crate::topology::TargetNumber;
use crate::worker::Worker;
use crate::worker::backend::Backend;
use crate::worker::client::Client;
use crate::worker::parked_requests::is_later;
use crate::worker::types::errors::{LOST, LOST_READ, NO_PRIMARY, SILENT, TRANSACTION_MOVED, UNSETTLED};
use crate::worker::types::request::{Pending, Purpose, Redirect, RequestResult, To};
use resp::slot::SLOTS;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of redirections of a request. More of them mean that the shards disagree
/// permanently.
const MAX_TRIES: u8 = 8;
/// Interval in microseconds at which the same unknown address is reported to the agent.
const REPORT_INTERVAL: u64 = 1_000_000;

impl Worker {
    /// Handles an error reply. It is delivered to the client unless it is a redirection or a
    /// temporary failure.
    #[cold]
    pub(super) fn error_reply(
        &mut self,
        backend: &mut Backend,
        pending: &Pending,
        frame: &[u8],
    ) -> Option<Redirect> {
        if pending.is_script && !backend.in_transaction {
            self.script_failed(backend, pending, frame);
            return None;
        }
        self.follow(backend, pending, frame, None)
    }

    /// Handles a statement of the shard about a request: the one that it has just answered, or
    /// the script whose request is `script`.
    pub(super) fn follow(
        &mut self,
        backend: &Backend,
        pending: &Pending,
        frame: &[u8],
        script: Option<&[u8]>,
    ) -> Option<Redirect> {
        let again = self.destination(backend, pending, frame).filter(|_| pending.redirects < MAX_TRIES);
        let Some(to) = again.filter(|_| !backend.in_transaction) else {
            let moved =
                backend.in_transaction && matches!(again, Some(To::Owner | To::Slot(_) | To::Asking(_)));
            let unsettled = frame.starts_with(b"-MOVED ") || frame.starts_with(b"-ASK ");
            let frame = if unsettled { UNSETTLED } else { frame };
            match moved || unsettled {
                true => {
                    let frame = if moved { TRANSACTION_MOVED } else { frame };
                    self.deliver_failure(backend.db, pending, RequestResult::Failed, frame);
                }
                false => self.deliver(pending, frame),
            }
            return None;
        };
        let mut pending = *pending;
        let bytes = script.unwrap_or_else(|| backend.request(&pending)).to_vec();
        // Waiting is limited by time, redirections are limited by number.
        pending.redirects += u8::from(!matches!(to, To::Later | To::AfterUpdate));
        self.dbs[backend.db].stats.failed(Failure::of(frame));
        if to == To::Later {
            self.note_no_primary(backend, frame);
        }
        let is_dedicated = backend.owner.is_some();
        let (db, identity) = (backend.db, backend.identity);
        Some(Redirect { pending, bytes, identity, db, is_dedicated, to, frame: frame.to_vec() })
    }

    fn destination(&mut self, backend: &Backend, pending: &Pending, frame: &[u8]) -> Option<To> {
        let line = std::str::from_utf8(frame.get(1..)?).ok()?.trim_end();
        let mut words = line.split(' ');
        match words.next()? {
            "MOVED" => {
                if pending.has_unknown_keys {
                    // The shard has determined the slot from the keys of the request.
                    let slot = words.next()?.parse().ok().filter(|&slot: &u16| slot < SLOTS)?;
                    return (slot != pending.slot).then_some(To::Slot(slot));
                }
                let (slot, address) = self.parse_slot_owner(backend, pending, words)?;
                let Some(target) = self.dbs[backend.db].topology.listed(address) else {
                    self.report_unlisted(backend.db, slot, address);
                    return self.can_wait(pending).then_some(To::AfterUpdate);
                };
                self.apply_moved(backend.db, slot, target);
                // Applies even if another endpoint serves the slot now: the request was valid when
                // it arrived, and clients must not receive the addresses of shards.
                Some(To::Owner)
            }
            "ASK" => {
                let (slot, address) = self.parse_slot_owner(backend, pending, words)?;
                match self.dbs[backend.db].topology.listed(address) {
                    Some(target) => Some(To::Asking(target)),
                    None => {
                        self.report_unlisted(backend.db, slot, address);
                        self.can_wait(pending).then_some(To::AfterUpdate)
                    }
                }
            }
            "CLUSTERDOWN" | "READONLY" | "LOADING" | "MASTERDOWN" | "TRYAGAIN" => {
                self.can_wait(pending).then_some(To::Later)
            }
            // A primary that is demoted ends the blocking of its clients with this error.
            "UNBLOCKED" if words.next() == Some("force") => Some(To::Later),
            _ => None,
        }
    }

    fn can_wait(&self, pending: &Pending) -> bool {
        pending.deadline == 0 || pending.deadline > self.now
    }

    /// Parses `<slot> <host>:<port>`, if it concerns the slot of the request.
    fn parse_slot_owner<'a>(
        &self,
        backend: &Backend,
        pending: &Pending,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Option<(u16, SocketAddr)> {
        let slot = words.next()?.parse().ok().filter(|&slot: &u16| slot == pending.slot)?;
        Some((slot, self.address(backend, words.next()?)?))
    }

    /// Parses `host:port` in the format of shards. An empty host means the shard that returned it.
    fn address(&self, backend: &Backend, text: &str) -> Option<SocketAddr> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let ip: IpAddr = match host {
            "" => self.dbs[backend.db].topology.targets[usize::from(backend.target)].address.ip(),
            host => host.parse().ok()?,
        };
        Some(SocketAddr::new(ip, port))
    }

    fn apply_moved(&mut self, db: usize, slot: u16, target: TargetNumber) {
        if self.dbs[db].topology.moved(slot, target) {
            self.dbs[db].topology_version = self.dbs[db].topology_version.wrapping_add(1);
            let address = self.dbs[db].topology.targets[usize::from(target)].address;
            self.report_owner(db, slot, address);
        }
    }

    fn report_owner(&self, db: usize, slot: u16, address: SocketAddr) {
        let (uid, port) = (self.dbs[db].config.uid, address.port());
        // Fails only while the process is ending.
        let _ = self.events.send(Event::Report(Report::Topology {
            uid,
            slot,
            address: address.ip().to_string(),
            port,
        }));
    }

    /// Reports an address that the agent has not named, at most once a second for the same one. The
    /// address is not used.
    fn report_unlisted(&mut self, db: usize, slot: u16, address: SocketAddr) {
        let now = self.now;
        let is_reported = self.dbs[db].last_reported_owner.is_some_and(|(other, reported, at)| {
            (other, reported) == (slot, address) && now < at + REPORT_INTERVAL
        });
        if !is_reported {
            self.dbs[db].last_reported_owner = Some((slot, address, now));
            self.report_owner(db, slot, address);
        }
    }

    /// Sends a request to the destination of its redirection.
    pub(super) fn redirect(&mut self, redirect: Redirect) {
        let Redirect { mut pending, bytes, identity, db, is_dedicated, to, frame } = redirect;
        if let To::Slot(slot) = to {
            pending.slot = slot;
        }
        self.block_later_requests(db, &pending);
        let target = match to {
            To::Owner | To::Slot(_) => self.dbs[db].topology.owner(pending.slot),
            To::Asking(target) => Some(target),
            To::Later | To::AfterUpdate => None,
        };
        let lane = self.dbs[db].lane(pending.reply_to.client);
        let backend = target.and_then(|target| match is_dedicated {
            true => self.dedicated_for(pending.reply_to.client, target),
            false => self.shared_to(db, identity, target, lane),
        });
        match backend {
            Some(id) => {
                if matches!(to, To::Asking(_)) {
                    self.enqueue(id, b"*1\r\n$6\r\nASKING\r\n", Pending::internal(Purpose::Ignore));
                }
                self.enqueue(id, &bytes, pending);
            }
            None => {
                let error = match to {
                    To::Later => &frame[..],
                    To::AfterUpdate => UNSETTLED,
                    _ => NO_PRIMARY,
                };
                let outdated = self.dbs[db].topology.version.filter(|_| to == To::AfterUpdate);
                self.park(db, identity, is_dedicated, &bytes, pending, error).outdated = outdated;
            }
        }
    }

    /// Answers earlier requests of the same client and slot that wait to be sent again with the
    /// error of the shard, because sending them after a later request was executed would change the
    /// order.
    #[inline]
    pub(super) fn check_overtaken(&mut self, db: usize, done: &Pending, redirects: &mut Vec<Redirect>) {
        if !redirects.is_empty() || !self.dbs[db].parked.is_empty() {
            self.answer_overtaken(db, done, redirects);
        }
    }

    #[cold]
    fn answer_overtaken(&mut self, db: usize, done: &Pending, redirects: &mut Vec<Redirect>) {
        let is_overtaken = |waiting: &Pending| {
            waiting.reply_to.client == done.reply_to.client
                && waiting.slot == done.slot
                && is_later(done.reply_to.number, waiting.reply_to.number)
        };
        let (overtaken, others): (Vec<_>, Vec<_>) = std::mem::take(redirects)
            .into_iter()
            .partition(|redirect| redirect.to == To::Later && is_overtaken(&redirect.pending));
        *redirects = others;
        let mut answers: Vec<_> =
            overtaken.into_iter().map(|redirect| (redirect.pending, redirect.frame)).collect();
        let overtaken = self.dbs[db].parked.extract(done.reply_to.client, |parked| {
            parked.error != NO_PRIMARY && is_overtaken(&parked.pending)
        });
        answers.extend(overtaken.into_iter().map(|parked| (parked.pending, parked.error)));
        for (pending, frame) in answers {
            self.deliver_failure(db, &pending, RequestResult::Failed, &frame);
        }
    }

    /// Prevents later requests of this client from overtaking the one that is sent again.
    fn block_later_requests(&mut self, db: usize, pending: &Pending) {
        let stale = self.dbs[db].topology_version.wrapping_sub(1);
        if let Some(client) = self.clients.get_mut(pending.reply_to.client) {
            client.topology_version = stale;
        }
    }

    /// Handles the loss of a connection to a shard. Requests that were not sent wait for a primary.
    /// Requests that the shard has received are not repeated, whether they read or write, because
    /// they may have caused the failure. Their clients receive an error.
    pub(super) fn lost(&mut self, id: Id) {
        let is_out_of_step = self.backends.get(id).is_some_and(|backend| backend.is_desynchronized);
        self.end_backend(id, if is_out_of_step { Failure::Protocol } else { Failure::Reset }, LOST);
    }

    /// Closes a connection to a shard that does not answer. The shard may have executed its
    /// requests, so they are not repeated.
    pub(super) fn close_unresponsive(&mut self, id: Id) {
        self.end_backend(id, Failure::Timeout, SILENT);
    }

    fn end_backend(&mut self, id: Id, why: Failure, error: &[u8]) {
        let Some(mut backend) = self.backends.remove(id) else { return };
        self.poll.remove(backend.stream.fd());
        let (db, identity, target) = (backend.db, backend.identity, backend.target);
        if backend.is_open() {
            self.dbs[db].stats.failed(why);
        } else {
            self.refused(db, target);
        }
        if backend.owner.is_none() || !backend.inflight.is_empty() {
            self.dbs[db].topology_version = self.dbs[db].topology_version.wrapping_add(1);
        }
        self.disconnect(&backend, id);
        if let Some(reply) = backend.long_reply {
            // The client has received the start of a reply that cannot be completed.
            self.close_client(reply.client);
        }
        let rejected = self.dbs[db].identities[identity].rejected.take();
        let in_transaction = backend.in_transaction && backend.is_open();
        // A shard that sent invalid data is running, and can be reached immediately.
        if backend.is_open() && backend.owner.is_none() && rejected.is_none() && !backend.is_desynchronized {
            self.start_outage(db, target, false);
        }
        let mut opening = Vec::new();
        for (pending, bytes, seen) in backend.unanswered() {
            if pending.purpose == Purpose::Commands {
                self.dbs[db].commands.reset_query();
            }
            if pending.purpose == Purpose::Probe {
                self.deliver_unverified(&mut backend);
                continue;
            }
            if pending.purpose == Purpose::Canary {
                self.canary_lost(db, target, pending.slot, rejected.is_some());
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
            } else {
                self.block_later_requests(db, &pending);
                let parked = self.park(db, identity, backend.owner.is_some(), &bytes, pending, NO_PRIMARY);
                parked.opening = std::mem::take(&mut opening);
            }
        }
        // Requests that were never sent leave no state on the shard.
        backend.is_bound &= backend.is_open();
        self.resume.append(&mut backend.waiting);
        if let Some(owner) = backend.owner {
            self.lost_dedicated(owner, id, &backend);
        }
    }

    fn disconnect(&mut self, backend: &Backend, id: Id) {
        let identity = &mut self.dbs[backend.db].identities[backend.identity];
        if backend.is_pooled {
            identity.pool.retain(|(_, pooled)| *pooled != id);
        }
        if identity.connection(backend.lane, backend.target) == Some(id) {
            identity.set_connection(backend.lane, backend.target, None);
        }
    }

    /// Marks connections to former primaries after a change of the shards: they receive no new
    /// requests, and limited time to answer pending ones.
    pub(super) fn demote_backends(&mut self, db: usize) {
        for id in self.backends.ids() {
            let Some(backend) = self.backends.get_mut(id).filter(|backend| backend.db == db) else {
                continue;
            };
            let primary = self.dbs[db].topology.targets[usize::from(backend.target)].primary;
            backend.demoted_at = (!primary).then_some(backend.demoted_at.unwrap_or(self.now));
        }
    }

    /// Closes a connection that is no longer needed.
    pub(super) fn discard(&mut self, id: Id) {
        let Some(backend) = self.backends.remove(id) else { return };
        self.poll.remove(backend.stream.fd());
        self.disconnect(&backend, id);
        self.resume.extend(backend.waiting);
    }

    pub(super) fn finish_clients(&mut self, which: impl Fn(&Client) -> bool) {
        for id in self.clients.ids() {
            let Some(client) = self.clients.get_mut(id).filter(|client| which(client)) else { continue };
            if client.is_drained() && !client.output.has_some() {
                self.close_client(id);
            } else {
                client.closing = true;
                self.set_interest(id, |interest| {
                    *interest = Interest { read: false, hangup: false, ..*interest }
                });
            }
        }
    }
}
