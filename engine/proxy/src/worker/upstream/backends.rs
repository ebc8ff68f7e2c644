//! Connections to shards: requests are enqueued, and written once in each round.

use crate::arena::Id;
use crate::poll::{Interest, Source};
use crate::worker::Worker;
use crate::worker::types::dirty::reuse;
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

    pub fn flush_backends(&mut self) {
        let dirty = std::mem::take(&mut self.dirty_backends);
        for &id in &dirty {
            self.flush_backend(id);
        }
        self.dirty_backends = reuse(dirty, std::mem::take(&mut self.dirty_backends));
    }

    pub fn flush_backend(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        backend.dirty = false;
        if !backend.connected {
            return;
        }
        if backend.write().is_err() {
            self.lost(id);
            return;
        }
        let interest = Interest { read: !backend.is_suspended, write: backend.wants_write(), hangup: false };
        if backend.interest != interest {
            backend.interest = interest;
            if self.poll.change(backend.stream.fd(), Source::Backend(id), interest).is_err() {
                self.lost(id);
                return;
            }
        }
        if !backend.waiting.is_empty() && !backend.is_congested() {
            let waiting = std::mem::take(&mut backend.waiting);
            self.resume.extend(waiting);
        }
    }

    /// Resumes reading: the client has read its data or disconnected, or another request waits.
    pub fn resume_reading(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        if std::mem::take(&mut backend.is_suspended) {
            backend.used_at = self.now;
            self.listen(id);
        }
    }

    /// Updates the events for which the connection is polled.
    pub fn listen(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        let interest = Interest { read: !backend.is_suspended, write: backend.wants_write(), hangup: false };
        if backend.interest != interest {
            backend.interest = interest;
            if self.poll.change(backend.stream.fd(), Source::Backend(id), interest).is_err() {
                self.lost(id);
            }
        }
    }
}
