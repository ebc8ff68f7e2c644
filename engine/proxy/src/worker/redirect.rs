//! Replies that mean "elsewhere" or "not now", and connections that are lost: which requests are sent again.

use super::Worker;
use super::backend::{Backend, Pending, Purpose};
use super::send::NO_PRIMARY;
use crate::arena::Id;
use crate::command::Class;
use crate::control::Report;
use crate::poll::Interest;
use crate::process::Event;
use crate::stats::Failure;
use crate::topology::TargetNumber;
use std::net::{IpAddr, SocketAddr};

/// A request follows that many redirections; more means that the shards disagree for long.
const MAX_TRIES: u8 = 8;
const LOST: &[u8] =
    b"-ERR the connection to the shard was lost; the write may or may not have been executed\r\n";
const SILENT: &[u8] = b"-ERR the shard did not answer in time; a write may or may not have been executed\r\n";

const UNSETTLED: &[u8] = b"-TRYAGAIN the shards do not agree on who owns the slot; nothing was executed\r\n";

const TRANSACTION_MOVED: &[u8] =
    b"-TRYAGAIN the keys of this transaction have moved to another shard; nothing was executed\r\n";

#[derive(Debug)]
pub(super) struct Redirect {
    pending: Pending,
    bytes: Vec<u8>,
    identity: usize,
    db: usize,
    exclusive: bool,
    to: To,
    frame: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Owner,
    Asking(TargetNumber),
    /// When a primary can take it.
    Later,
}

impl Worker {
    /// An error reply: the client's, unless it only says where or when to ask.
    #[cold]
    pub(super) fn error_reply(
        &mut self,
        backend: &Backend,
        pending: &Pending,
        frame: &[u8],
    ) -> Option<Redirect> {
        let again = self.destination(backend, pending, frame).filter(|_| pending.tries < MAX_TRIES);
        let Some(to) = again.filter(|_| !backend.in_transaction) else {
            let moved = backend.in_transaction && matches!(again, Some(To::Owner | To::Asking(_)));
            let unsettled = frame.starts_with(b"-MOVED ") || frame.starts_with(b"-ASK ");
            let frame = if unsettled { UNSETTLED } else { frame };
            self.deliver(pending, if moved { TRANSACTION_MOVED } else { frame });
            return None;
        };
        let mut pending = *pending;
        let bytes = backend.request(&pending).to_vec();
        // Waiting ends by time, following ends by count.
        pending.tries += u8::from(to != To::Later);
        self.dbs[backend.db].stats.failed(Failure::of(frame));
        let exclusive = backend.owner.is_some();
        let (db, identity) = (backend.db, backend.identity);
        Some(Redirect { pending, bytes, identity, db, exclusive, to, frame: frame.to_vec() })
    }

    fn destination(&mut self, backend: &Backend, pending: &Pending, frame: &[u8]) -> Option<To> {
        let line = std::str::from_utf8(frame.get(1..)?).ok()?.trim_end();
        let mut words = line.split(' ');
        match words.next()? {
            "MOVED" => {
                let slot = words.next()?.parse().ok()?;
                let address = self.address(backend, words.next()?)?;
                self.moved(backend.db, slot, address);
                // Even where the slot is another endpoint's now: this request was right when it came, and shards'
                // own addresses are nothing for clients.
                Some(To::Owner)
            }
            "ASK" => {
                let address = self.address(backend, words.nth(1)?)?;
                Some(To::Asking(self.dbs[backend.db].topology.intern(address)))
            }
            "CLUSTERDOWN" | "READONLY" | "LOADING" | "MASTERDOWN" | "TRYAGAIN" => {
                (pending.deadline == 0 || pending.deadline > self.now).then_some(To::Later)
            }
            // A primary that becomes a replica sends away whoever blocks there.
            "UNBLOCKED" if words.next() == Some("force") => Some(To::Later),
            _ => None,
        }
    }

    /// `host:port` as shards write it; no host means the one that said so.
    fn address(&self, backend: &Backend, text: &str) -> Option<SocketAddr> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let ip: IpAddr = match host {
            "" => self.dbs[backend.db].topology.targets[usize::from(backend.target)].address.ip(),
            host => host.parse().ok()?,
        };
        Some(SocketAddr::new(ip, port))
    }

    fn moved(&mut self, db: usize, slot: u16, address: SocketAddr) {
        let db = &mut self.dbs[db];
        if db.topology.moved(slot, address) {
            db.generation = db.generation.wrapping_add(1);
            let (uid, port) = (db.config.uid, address.port());
            // The control thread is gone only when the process ends.
            let _ = self.events.send(Event::Report(Report::Topology {
                uid,
                slot,
                address: address.ip().to_string(),
                port,
            }));
        }
    }

    /// Sends a request where its reply said it belongs.
    pub(super) fn redirect(&mut self, redirect: Redirect) {
        let Redirect { pending, bytes, identity, db, exclusive, to, frame } = redirect;
        self.hold_back(db, &pending);
        let target = match to {
            To::Owner => self.dbs[db].topology.owner(pending.slot),
            To::Asking(target) => Some(target),
            To::Later => None,
        };
        let backend = target.and_then(|target| match exclusive {
            true => self.exclusive_for(pending.asker.client, target),
            false => self.shared_to(db, identity, target),
        });
        match backend {
            Some(id) => {
                if matches!(to, To::Asking(_)) {
                    self.push(id, b"*1\r\n$6\r\nASKING\r\n", Pending::own(Purpose::Ignore));
                }
                self.push(id, &bytes, pending);
            }
            None => {
                let error = if to == To::Later { &frame[..] } else { NO_PRIMARY };
                self.park(db, identity, exclusive, &bytes, pending, error);
            }
        }
    }

    /// Later requests of this client must not overtake the one that is sent again.
    fn hold_back(&mut self, db: usize, pending: &Pending) {
        let stale = self.dbs[db].generation.wrapping_sub(1);
        if let Some(client) = self.clients.get_mut(pending.asker.client) {
            client.generation = stale;
        }
    }

    /// A connection to a shard ended. What was not sent waits for a primary; a read is repeated; of a write nobody
    /// knows, and its client is told so.
    pub(super) fn lost(&mut self, id: Id) {
        self.end_backend(id, Failure::Reset, LOST);
    }

    /// A shard says nothing. It may have executed anything; asking again would only wait as long again.
    pub(super) fn gave_up(&mut self, id: Id) {
        self.end_backend(id, Failure::Timeout, SILENT);
    }

    fn end_backend(&mut self, id: Id, why: Failure, error: &[u8]) {
        let Some(mut backend) = self.backends.remove(id) else { return };
        self.poll.remove(backend.stream.fd());
        let (db, identity, target) = (backend.db, backend.identity, backend.target);
        if backend.connected {
            self.dbs[db].stats.failed(why);
        } else {
            self.refused(db, target);
        }
        self.dbs[db].generation = self.dbs[db].generation.wrapping_add(1);
        self.disconnect(&backend, id);
        let rejected = self.dbs[db].identities[identity].rejected.take();
        let in_transaction = backend.in_transaction && backend.connected;
        let mut opening = Vec::new();
        for (pending, bytes, seen) in backend.unanswered() {
            if pending.purpose != Purpose::Reply {
                // MULTI that was never sent goes with the command behind it.
                if backend.in_transaction && !backend.connected && pending.purpose == Purpose::Ignore {
                    opening.push(bytes);
                }
                continue;
            }
            let seen = seen && backend.connected;
            if let Some(rejection) = &rejected {
                self.deliver(&pending, rejection);
            } else if in_transaction
                || seen
                    && (why == Failure::Timeout || pending.class != Class::Read || pending.tries >= MAX_TRIES)
            {
                self.deliver(&pending, error);
            } else {
                let again = Pending { tries: pending.tries + u8::from(seen), ..pending };
                self.hold_back(db, &again);
                self.park(db, identity, backend.owner.is_some(), &bytes, again, NO_PRIMARY);
                if let Some(parked) = self.dbs[db].parked.back_mut() {
                    parked.opening = std::mem::take(&mut opening);
                }
            }
        }
        // What was never sent binds nobody.
        backend.is_bound &= backend.connected;
        self.resume.append(&mut backend.waiting);
        if let Some(owner) = backend.owner {
            self.lost_exclusive(owner, id, &backend);
        }
    }

    fn disconnect(&mut self, backend: &Backend, id: Id) {
        let connections = &mut self.dbs[backend.db].identities[backend.identity].connections;
        if let Some(place) =
            connections.get_mut(usize::from(backend.target)).filter(|place| **place == Some(id))
        {
            *place = None;
        }
    }

    /// The shards of a database have changed: connections to former primaries get no new requests, and not
    /// forever to answer old ones.
    pub(super) fn demote_backends(&mut self, db: usize) {
        for id in self.backends.ids() {
            let Some(backend) = self.backends.get_mut(id).filter(|backend| backend.db == db) else {
                continue;
            };
            let primary = self.dbs[db].topology.targets[usize::from(backend.target)].primary;
            backend.demoted_at = (!primary).then_some(backend.demoted_at.unwrap_or(self.now));
        }
    }

    /// Closes a connection that nobody needs.
    pub(super) fn discard(&mut self, id: Id) {
        let Some(backend) = self.backends.remove(id) else { return };
        self.poll.remove(backend.stream.fd());
        self.disconnect(&backend, id);
        self.resume.extend(backend.waiting);
    }

    pub(super) fn finish_clients(&mut self, which: impl Fn(&super::client::Client) -> bool) {
        for id in self.clients.ids() {
            let Some(client) = self.clients.get_mut(id).filter(|client| which(client)) else { continue };
            if client.is_drained() && !client.has_output() {
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
