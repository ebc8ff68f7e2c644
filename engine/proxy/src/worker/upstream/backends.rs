//! Connections to shards: requests are enqueued, and written once in each round.

use crate::arena::{Arena, Id};
use crate::poll::{Interest, Source};
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::DedicatedConnections;
use crate::worker::io::Io;
use crate::worker::types::dirty::DirtyList;
use crate::worker::types::request::Pending;
use crate::worker::upstream::backend::Backend;

#[derive(Default)]
pub struct Backends {
    pub arena: Arena<Backend>,
    pub dirty: DirtyList,
    /// Clients that waited for a connection that was congested.
    pub uncongested: Vec<Id>,
    /// Connections that cannot be polled any longer.
    pub broken: Vec<Id>,
}

impl Backends {
    /// Returns `true` if the connection is congested. The client must then wait, and is resumed
    /// when the data has been sent.
    #[inline]
    pub fn enqueue(&mut self, io: &Io, id: Id, bytes: &[u8], pending: Pending) -> bool {
        let Some(backend) = self.arena.get_mut(id) else { return false };
        backend.enqueue(bytes, pending);
        if !backend.dirty {
            backend.dirty = true;
            self.dirty.add(id);
        }
        let congested = backend.is_congested();
        if congested {
            backend.waiting.push(pending.reply_to.client);
        }
        if backend.is_suspended {
            self.resume_reading(io, id);
        }
        congested
    }

    /// Enqueues bytes whose reply does not belong to a single request.
    pub fn enqueue_raw(&mut self, id: Id, bytes: &[u8]) {
        if let Some(backend) = self.arena.get_mut(id) {
            backend.enqueue_raw(bytes);
        }
        self.mark_dirty(id);
    }

    #[inline]
    pub fn mark_dirty(&mut self, id: Id) {
        if let Some(backend) = self.arena.get_mut(id).filter(|backend| !backend.dirty) {
            backend.dirty = true;
            self.dirty.add(id);
        }
    }

    /// Writes as much as the socket accepts. Returns `false` if the connection has failed.
    #[inline]
    pub fn flush(&mut self, io: &Io, id: Id) -> bool {
        let Some(backend) = self.arena.get_mut(id) else { return true };
        backend.dirty = false;
        if !backend.connected {
            return true;
        }
        if backend.write().is_err() || !update_interest(backend, io, id) {
            return false;
        }
        if !backend.waiting.is_empty() && !backend.is_congested() {
            self.uncongested.extend(std::mem::take(&mut backend.waiting));
        }
        true
    }

    /// Resumes reading: the client has read its data or disconnected, or another request waits.
    pub fn resume_reading(&mut self, io: &Io, id: Id) {
        let Some(backend) = self.arena.get_mut(id) else { return };
        if std::mem::take(&mut backend.is_suspended) {
            backend.used_at = io.now;
            self.listen(io, id);
        }
    }

    /// Updates the events for which the connection is polled.
    pub fn listen(&mut self, io: &Io, id: Id) {
        let Some(backend) = self.arena.get_mut(id) else { return };
        if !update_interest(backend, io, id) {
            self.broken.push(id);
        }
    }

    /// Returns the connections with watched keys or queued commands of the client: one, unless
    /// watched keys have moved.
    pub fn bound_connections(&self, client: &Client) -> Vec<Id> {
        let mut all =
            client.dedicated.as_deref().map(DedicatedConnections::all_connections).unwrap_or_default();
        all.retain(|id| self.arena.get(*id).is_some_and(|backend| backend.is_bound));
        all
    }
}

/// Returns `false` if the connection cannot be polled any longer.
#[inline]
fn update_interest(backend: &mut Backend, io: &Io, id: Id) -> bool {
    let interest = Interest { read: !backend.is_suspended, write: backend.wants_write(), hangup: false };
    if backend.interest == interest {
        return true;
    }
    backend.interest = interest;
    io.poll.change(backend.stream.fd(), Source::Backend(id), interest).is_ok()
}
