//! shard -> reply: matches replies with requests, and delivers them to clients.

use crate::arena::Id;
use crate::command::Class;
use crate::poll::Ready;
use crate::socket;
use crate::worker::Worker;
use crate::worker::types::request::{Bond, Pending, Purpose, Redirect, RequestResult};
use crate::worker::upstream::backend::{Backend, Fence};
use std::io::ErrorKind;

impl Worker {
    pub fn backend_ready(&mut self, id: Id, event: Ready) {
        let Some(backend) = self.upstream.backends.arena.get_mut(id) else { return };
        if !backend.connected {
            if socket::outcome(backend.stream.fd()).is_err() {
                self.lost(id);
                return;
            }
            backend.connected = event.write;
        }
        if event.write && !self.upstream.backends.flush(&self.upstream.io, id) {
            self.lost(id);
        }
        // Data that arrived before the connection was lost is read first.
        if event.broken || event.read && !self.suspend_reading(id) {
            self.read_backend(id);
        }
    }

    fn read_backend(&mut self, id: Id) {
        let Some(mut backend) = self.upstream.backends.arena.take(id) else { return };
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut redirects = Vec::new();
        let mut has_ended = false;
        let alive = match backend.stream.read(&mut scratch) {
            Ok(0) => {
                has_ended = true;
                false
            }
            Ok(n) if backend.input.is_empty() => {
                let used = self.take_replies(id, &mut backend, &scratch[..n], &mut redirects);
                backend.input.extend_from_slice(&scratch[used.unwrap_or(n)..n]);
                used.is_some()
            }
            Ok(n) => {
                let mut input = std::mem::take(&mut backend.input);
                input.extend_from_slice(&scratch[..n]);
                let used = self.take_replies(id, &mut backend, &input, &mut redirects);
                input.drain(..used.unwrap_or(0));
                backend.input = input;
                used.is_some()
            }
            Err(error) => {
                has_ended = error.kind() != ErrorKind::WouldBlock;
                !has_ended
            }
        };
        self.scratch = scratch;
        backend.is_desynchronized |=
            !alive && !has_ended && self.upstream.dbs[backend.db].has_greeted(&backend);
        let has_more = backend.unsent() > 0 || backend.stream.wants_write();
        self.upstream.backends.arena.put_back(id, backend);
        if has_more {
            self.upstream.backends.mark_dirty(id);
        }
        for redirect in redirects {
            self.redirect(redirect);
        }
        self.send_follow_ups();
        if !alive {
            self.lost(id);
        }
    }

    /// Handles complete replies and returns the number of their bytes, or `None` if the shard
    /// violates the protocol.
    fn take_replies(
        &mut self,
        id: Id,
        backend: &mut Backend,
        bytes: &[u8],
        redirects: &mut Vec<Redirect>,
    ) -> Option<usize> {
        backend.used_at = self.upstream.io.now;
        self.upstream.answering = backend.target;
        let mut at = 0;
        let (mut has_succeeded, mut has_written) = (false, false);
        while at < bytes.len() {
            if backend.long_reply.is_some() {
                at += self.forward_piece(backend, &bytes[at..]);
                if backend.long_reply.is_some_and(|reply| reply.left > 0) {
                    break;
                }
                let pending = backend.answered()?;
                has_succeeded = true;
                has_written |= pending.class == Class::Write;
                self.upstream.succeeded(backend, &pending);
                self.finish_long_reply(backend, &pending);
                self.check_overtaken(backend.db, &pending, redirects);
                backend.remove_request(&pending);
                continue;
            }
            if backend.inflight.front().is_some_and(|oldest| oldest.purpose == Purpose::Fence) {
                match backend.check_fence(&bytes[at..]) {
                    Fence::Passed(len) => at += len,
                    Fence::Incomplete => break,
                    Fence::Forbidden => {
                        self.upstream.dbs[backend.db].identities[backend.identity].fences_with_hello = true;
                        return None;
                    }
                    Fence::Broken => return None,
                }
                let pending = backend.answered()?;
                backend.remove_request(&pending);
                continue;
            }
            let len = match backend.scanner.scan(&bytes[at..]) {
                Ok(Some(len)) => len,
                Ok(None) => {
                    at += self.start_long_reply(id, backend, &bytes[at..]).unwrap_or(0);
                    break;
                }
                Err(_) => return None,
            };
            let frame = &bytes[at..at + len];
            at += len;
            if frame[0] == b'>' && backend.owner.is_none() && !backend.is_relayed {
                // The engine sends push messages only to subscribers.
                return None;
            }
            if frame[0] == b'>' || backend.is_relayed && backend.inflight.is_empty() {
                self.relay(backend, frame);
                continue;
            }
            let pending = backend.answered()?;
            match pending.purpose {
                Purpose::Reply if frame[0] == b'-' => match self.error_reply(backend, &pending, frame) {
                    Some(redirect) => redirects.push(redirect),
                    None => {
                        self.upstream.dbs[backend.db].answered_with_error(&pending);
                        self.check_overtaken(backend.db, &pending, redirects);
                    }
                },
                Purpose::Reply => {
                    has_succeeded = true;
                    has_written |= pending.class == Class::Write;
                    self.upstream.succeeded(backend, &pending);
                    self.deliver(backend.db, &pending, frame);
                    self.check_overtaken(backend.db, &pending, redirects);
                }
                Purpose::Probe => redirects.extend(self.handle_probe_reply(backend, frame)),
                Purpose::Commands => self.upstream.dbs[backend.db].commands.learn(frame),
                Purpose::Canary => has_succeeded |= self.upstream.canary_answered(backend, &pending, frame),
                Purpose::Ignore | Purpose::Fence => {}
                Purpose::Greeting => self.upstream.dbs[backend.db].handle_hello_reply(backend, frame)?,
            }
            backend.remove_request(&pending);
            if pending.bond == Bond::Ends {
                backend.is_bound = false;
                backend.in_transaction = false;
            }
        }
        if has_succeeded {
            self.upstream.dbs[backend.db].note_success(backend.target, self.upstream.io.now, has_written);
        }
        Some(at)
    }

    /// Delivers a complete reply to the client of the request.
    #[inline]
    pub fn deliver(&mut self, db: usize, pending: &Pending, frame: &[u8]) {
        let db = &mut self.upstream.dbs[db];
        if let Some(action) = self.clients.deliver(&mut db.stats, db.topology_version, pending, frame) {
            self.apply_reply_action(pending.reply_to, *action, frame);
            self.clients.mark_progress(pending.reply_to.client);
        }
    }

    /// Delivers an error that is not the reply of the shard to this request.
    #[cold]
    pub fn deliver_failure(&mut self, db: usize, pending: &Pending, result: RequestResult, frame: &[u8]) {
        self.upstream.dbs[db].count_result(pending, result);
        if let Some(client) = self.clients.arena.get_mut(pending.reply_to.client) {
            client.output.mark_unserved(pending.reply_to.number);
        }
        self.deliver(db, pending, frame);
    }
}
