//! Long replies on their way through: what has arrived leaves, before the rest is there.
//!
//! A long value is held here neither whole nor twice. The client whose turn it is gets it piece by piece, as fast as it reads;
//! while it does not, and nobody else waits for a reply on the same connection, the rest stays with the shard. As soon as
//! somebody does, everything is taken from there, and kept for the client as a short reply would be.

use super::Worker;
use super::backend::{Backend, Bond, Pending, Purpose};
use crate::arena::Id;
use crate::poll::{Interest, Source};
use resp::{Header, ReplyScanner};

/// Shorter replies are delivered when they are complete: they mostly arrive in one piece.
const LONG: usize = 32 * 1024;
/// The client has the beginning of the reply to the oldest request of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Passing {
    pub client: Id,
    pub left: usize,
}

impl Worker {
    /// `bytes` are the beginning of a reply: passes it on if it is long and its client's turn. How many bytes went.
    pub(super) fn begin_passing(&mut self, id: Id, backend: &mut Backend, bytes: &[u8]) -> Option<usize> {
        let pending = backend.inflight.front()?;
        let is_plain = pending.purpose == Purpose::Reply && pending.bond == Bond::Unchanged;
        if !is_plain || bytes.first() != Some(&b'$') {
            return None;
        }
        let Ok(Some(Header::Bulk { start, end })) = resp::header(bytes, 0) else { return None };
        if end - start < LONG {
            return None;
        }
        let asker = pending.asker;
        let client =
            self.clients.get_mut(asker.client).filter(|client| client.output.may_pass(asker.number))?;
        client.output.begin_passing(id, end + 2);
        backend.scanner = ReplyScanner::default();
        backend.passing = Some(Passing { client: asker.client, left: end + 2 });
        Some(self.pass(backend, bytes))
    }

    /// Passes on what belongs to the reply. How many bytes that were; all of it has gone when nothing is left.
    pub(super) fn pass(&mut self, backend: &mut Backend, bytes: &[u8]) -> usize {
        let Some(passing) = &mut backend.passing else { return 0 };
        let piece = &bytes[..passing.left.min(bytes.len())];
        passing.left -= piece.len();
        let client = passing.client;
        // Of a client that is gone the rest is thrown away.
        if let Some(found) = self.clients.get_mut(client) {
            let written = found.pass(piece);
            let is_kept_back = found.stream.wants_write(); // records that the socket had no room for
            self.dbs[backend.db].stats.bytes_out += written as u64;
            if written < piece.len() || is_kept_back {
                self.progressed(client);
            }
        }
        piece.len()
    }

    /// The client has all of it.
    pub(super) fn passed(&mut self, backend: &mut Backend, pending: &Pending) {
        backend.passing = None;
        let asker = pending.asker;
        if let Some(client) = self.clients.get_mut(asker.client) {
            client.output.end_passing();
            self.progressed(asker.client);
        }
    }

    /// Whether the shard keeps the rest for now: its client has enough to read, and nobody else waits.
    pub(super) fn holds(&mut self, id: Id) -> bool {
        let Some(backend) = self.backends.get_mut(id) else { return false };
        let Some(passing) = backend.passing.filter(|_| backend.inflight.len() == 1) else { return false };
        let has_enough = self.clients.get(passing.client).is_some_and(|client| client.output.has_enough());
        if has_enough {
            backend.is_held = true;
            self.listen(id);
        }
        has_enough
    }

    /// The rest may come: its client has read, is gone, or somebody waits behind it.
    pub(super) fn let_go(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        if std::mem::take(&mut backend.is_held) {
            backend.used_at = self.now;
            self.listen(id);
        }
    }

    /// Waits for what this connection needs.
    pub(super) fn listen(&mut self, id: Id) {
        let Some(backend) = self.backends.get_mut(id) else { return };
        let interest = Interest { read: !backend.is_held, write: backend.wants_write(), hangup: false };
        if backend.interest != interest {
            backend.interest = interest;
            if self.poll.change(backend.stream.fd(), Source::Backend(id), interest).is_err() {
                self.lost(id);
            }
        }
    }
}
