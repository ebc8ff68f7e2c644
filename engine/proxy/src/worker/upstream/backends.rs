//! Connections to shards: requests are enqueued, and written once in each round.

use crate::arena::Id;
use crate::poll::{Interest, Source};
use crate::worker::Worker;
use crate::worker::types::request::Pending;

impl Worker {
    /// Returns `true` if the connection is congested. The client must then wait, and is resumed
    /// when the data has been sent.
    #[inline]
    pub fn enqueue(&mut self, id: Id, bytes: &[u8], pending: Pending) -> bool {
        let Some(backend) = self.backends.get_mut(id) else { return false };
        backend.enqueue(bytes, pending);
        if !backend.dirty {
            backend.dirty = true;
            self.dirty_backends.push(id);
        }
        let congested = backend.is_congested();
        if congested {
            backend.waiting.push(pending.reply_to.client);
        }
        if backend.is_suspended {
            self.resume_reading(id);
        }
        congested
    }

    pub fn mark_dirty(&mut self, id: Id) {
        if let Some(backend) = self.backends.get_mut(id).filter(|backend| !backend.dirty) {
            backend.dirty = true;
            self.dirty_backends.push(id);
        }
    }

    /// Writes as much as the socket accepts. Returns `false` if the connection has failed.
    #[inline]
    pub fn flush_backend(&mut self, id: Id) -> bool {
        let Some(backend) = self.backends.get_mut(id) else { return true };
        backend.dirty = false;
        if !backend.connected {
            return true;
        }
        if backend.write().is_err() {
            return false;
        }
        let interest = Interest { read: !backend.is_suspended, write: backend.wants_write(), hangup: false };
        if backend.interest != interest {
            backend.interest = interest;
            if self.io.poll.change(backend.stream.fd(), Source::Backend(id), interest).is_err() {
                return false;
            }
        }
        if !backend.waiting.is_empty() && !backend.is_congested() {
            let waiting = std::mem::take(&mut backend.waiting);
            self.resume.extend(waiting);
        }
        true
    }

    /// Resumes reading: the client has read its data or disconnected, or another request waits.
    pub fn resume_reading(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        if std::mem::take(&mut backend.is_suspended) {
            backend.used_at = self.io.now;
            self.listen(id);
        }
    }

    /// Updates the events for which the connection is polled.
    pub fn listen(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        let interest = Interest { read: !backend.is_suspended, write: backend.wants_write(), hangup: false };
        if backend.interest != interest {
            backend.interest = interest;
            if self.io.poll.change(backend.stream.fd(), Source::Backend(id), interest).is_err() {
                self.broken_backends.push(id);
            }
        }
    }
}
