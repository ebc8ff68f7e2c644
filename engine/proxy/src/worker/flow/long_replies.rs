//! Long replies: parts that have arrived are forwarded before the reply is complete.
//!
//! A long value is neither stored completely nor copied twice. The client whose turn it is receives
//! it in pieces, as fast as it reads. While the client does not read, and no other request waits on
//! the connection, the rest stays with the shard. When another request waits, the rest is read from
//! the shard and kept for the client, like a short reply.

use crate::arena::Id;
use crate::worker::Worker;
use crate::worker::types::request::{Bond, LongReply, Pending, Purpose};
use crate::worker::upstream::backend::Backend;
use resp::{Header, ReplyScanner};

/// Shorter replies are delivered when they are complete. They usually arrive in one piece.
const LONG: usize = 32 * 1024;

impl Worker {
    /// Starts to forward the reply that starts with `bytes`, if it is long and the next one for its
    /// client. Returns the number of bytes forwarded.
    pub fn start_long_reply(&mut self, id: Id, backend: &mut Backend, bytes: &[u8]) -> Option<usize> {
        let pending = backend.inflight.front()?;
        let is_plain = pending.purpose == Purpose::Reply && pending.bond == Bond::Unchanged;
        if !is_plain || bytes.first() != Some(&b'$') {
            return None;
        }
        let Ok(Some(Header::Bulk { start, end })) = resp::header(bytes, 0) else { return None };
        if end - start < LONG {
            return None;
        }
        let reply_to = pending.reply_to;
        let client = self
            .clients
            .arena
            .get_mut(reply_to.client)
            .filter(|client| client.output.can_start_long_reply(reply_to.number))?;
        client.output.start_long_reply(id, end + 2);
        backend.scanner = ReplyScanner::default();
        backend.long_reply = Some(LongReply { client: reply_to.client, left: end + 2 });
        Some(self.forward_piece(backend, bytes))
    }

    /// Forwards the bytes that belong to the reply and returns their number. The reply is complete
    /// when nothing is left.
    pub fn forward_piece(&mut self, backend: &mut Backend, bytes: &[u8]) -> usize {
        let Some(reply) = &mut backend.long_reply else { return 0 };
        let piece = &bytes[..reply.left.min(bytes.len())];
        reply.left -= piece.len();
        let client = reply.client;
        // If the client has disconnected, the rest is discarded.
        if let Some(found) = self.clients.arena.get_mut(client) {
            let written = found.write_piece(piece);
            let is_kept_back = found.stream.wants_write(); // records that did not fit into the socket buffer
            self.upstream.dbs[backend.db].stats.bytes_out += written as u64;
            if written < piece.len() || is_kept_back {
                self.clients.mark_progress(client);
            }
        }
        piece.len()
    }

    /// Completes the reply.
    pub fn finish_long_reply(&mut self, backend: &mut Backend, pending: &Pending) {
        backend.long_reply = None;
        let reply_to = pending.reply_to;
        if let Some(client) = self.clients.arena.get_mut(reply_to.client) {
            client.output.finish_long_reply();
            self.clients.mark_progress(reply_to.client);
        }
    }

    /// Suspends reading from the shard if the client has enough unread data and no other request
    /// waits. Returns whether it did.
    pub fn suspend_reading(&mut self, id: Id) -> bool {
        let Some(backend) = self.upstream.backends.arena.get_mut(id) else { return false };
        let Some(reply) = backend.long_reply.filter(|_| backend.inflight.len() == 1) else { return false };
        let has_enough =
            self.clients.arena.get(reply.client).is_some_and(|client| client.output.has_enough());
        if has_enough {
            backend.is_suspended = true;
            self.upstream.backends.listen(&self.upstream.io, id);
        }
        has_enough
    }
}
