//! bytes -> request: reads from clients and handles their requests one after another.

use crate::arena::Id;
use crate::command::Class;
use crate::command_index::UNKNOWN;
use crate::poll::{Interest, Ready};
use crate::stats::Failure;
use crate::worker::Worker;
use crate::worker::clients::HalfClosed;
use crate::worker::clients::client::Client;
use crate::worker::types::request::Flow;
use resp::{Limits, ProtocolError, encode};
use std::io::ErrorKind;

/// Limits for clients that have not logged in, as in the engine.
const UNAUTHENTICATED: Limits = Limits { bulk: 16 * 1024, args: 10, request: 1 << 20 };

/// Microseconds for which the requests of one client are handled before the next client, and number
/// of requests between two readings of the clock.
const SLICE: u64 = 100;
const CLOCK_CHECK_INTERVAL: u32 = 64;

/// Microseconds after which a blocking command of a client that sends nothing more is cancelled.
const GRACE: u64 = 100_000;

fn error_text(error: ProtocolError, is_unauthenticated: bool) -> String {
    match error {
        ProtocolError::InvalidMultibulkLength if is_unauthenticated => {
            "unauthenticated multibulk length".into()
        }
        ProtocolError::InvalidBulkLength if is_unauthenticated => "unauthenticated bulk length".into(),
        error => error.to_string(),
    }
}

impl Worker {
    pub fn client_ready(&mut self, id: Id, event: Ready) {
        if event.write {
            self.flush_client(id);
        }
        let Some(client) = self.clients.arena.get(id) else { return };
        if event.read && !client.paused && !client.closing {
            self.read_client(id);
        } else if event.broken {
            self.close_client(id);
        } else if event.hangup {
            self.hung_up(id);
        } else if event.read {
            // Further input must wait: leave it in the socket.
            self.set_interest(id, |interest| interest.read = false);
        }
    }

    fn hung_up(&mut self, id: Id) {
        let Some(client) = self.clients.arena.get(id) else { return };
        if client.is_settled() && !client.paused && !client.output.has_some() {
            self.close_client(id);
            return;
        }
        // It may still read the replies to its requests, some of which may not have been handled yet.
        self.set_interest(id, |interest| *interest = Interest { hangup: false, ..*interest });
        self.clients.half_closed.push(HalfClosed { id, blocking: None });
    }

    fn read_client(&mut self, id: Id) {
        let mut scratch = std::mem::take(&mut self.scratch);
        while let Some(client) = self.clients.arena.get_mut(id) {
            match client.stream.read(&mut scratch) {
                Ok(0) => self.end_of_client(id),
                Ok(n) => {
                    self.received(id, &scratch[..n]);
                    // The TLS session may hold more data than the kernel reports.
                    if n == scratch.len()
                        && self.clients.arena.get(id).is_some_and(|c| c.stream.is_tls() && !c.paused)
                    {
                        continue;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.close_client(id),
            }
            break;
        }
        self.scratch = scratch;
    }

    fn end_of_client(&mut self, id: Id) {
        let Some(client) = self.clients.arena.get_mut(id) else { return };
        if client.is_settled() && !client.output.has_some() {
            self.close_client(id);
            return;
        }
        client.closing = true;
        self.set_interest(id, |interest| *interest = Interest { read: false, hangup: false, ..*interest });
        self.clients.mark_dirty(id);
        self.clients.half_closed.push(HalfClosed { id, blocking: None });
    }

    /// Closes clients that have closed their sending side and wait for an event. They cannot be
    /// distinguished from clients that have closed the connection, and the event must not be lost
    /// with them. A shard answers requests that need not wait within the grace time.
    pub fn close_half_closed(&mut self) {
        let now = self.upstream.io.now;
        for HalfClosed { id, blocking } in std::mem::take(&mut self.clients.half_closed) {
            let Some(client) = self.clients.arena.get(id) else { continue };
            // The request may have been handled long after it was received, and replies to earlier
            // ones may not have been written yet.
            let blocking = client.output.blocking_request().map(|number| match blocking {
                Some((oldest, since)) if oldest == number && !client.output.has_some() => (number, since),
                _ => (number, now),
            });
            match blocking {
                Some((_, since)) if since + GRACE < now => self.close_client(id),
                Some(_) => self.clients.half_closed.push(HalfClosed { id, blocking }),
                // One of the requests that have not been handled may block.
                None if client.paused => self.clients.half_closed.push(HalfClosed { id, blocking }),
                None => {}
            }
        }
    }

    fn received(&mut self, id: Id, bytes: &[u8]) {
        let now = self.upstream.io.clock();
        let Some(mut client) = self.clients.arena.take(id) else { return };
        client.read_at = now;
        self.upstream.dbs[client.db].stats.bytes_in += bytes.len() as u64;
        if client.input.is_empty() {
            let used = self.consume(id, &mut client, bytes);
            if used < bytes.len() {
                client.input.extend_from_slice(&bytes[used..]);
            }
        } else {
            client.input.extend_from_slice(bytes);
            self.consume_input(id, &mut client);
        }
        self.clients.arena.put_back(id, client);
        self.update_memory(id);
        self.after_intake(id);
    }

    /// Resumes a client that waited.
    pub fn resume_client(&mut self, id: Id) {
        let Some(mut client) = self.clients.arena.take(id) else { return };
        client.resuming = false;
        client.congested = false;
        if client.paused {
            client.paused = false;
            self.consume_input(id, &mut client);
        }
        let reads = !client.paused && !client.closing;
        let is_tls = client.stream.is_tls();
        self.clients.arena.put_back(id, client);
        if reads {
            self.set_interest(id, |interest| {
                *interest = Interest { write: interest.write, ..Interest::READ }
            });
        }
        self.update_memory(id);
        self.after_intake(id);
        if reads && is_tls {
            // The kernel does not report data that TLS has already decrypted.
            self.read_client(id);
        }
    }

    fn consume_input(&mut self, id: Id, client: &mut Client) {
        let mut input = std::mem::take(&mut client.input);
        let used = self.consume(id, client, &input);
        if used == input.len() {
            input.clear();
        } else {
            input.drain(..used);
        }
        client.input = input;
    }

    /// Handles the requests in `bytes`. Returns the number of bytes handled.
    fn consume(&mut self, id: Id, client: &mut Client, bytes: &[u8]) -> usize {
        let is_unauthenticated = self.upstream.dbs[client.db].identities[client.identity].noauth;
        let limits = if is_unauthenticated { UNAUTHENTICATED } else { self.upstream.dbs[client.db].limits };
        let began = self.upstream.io.now;
        let mut count = 0u32;
        let mut own = client.parser.take();
        let mut shared = std::mem::take(&mut self.clients.parser);
        let parser = own.as_deref_mut().unwrap_or(&mut shared);
        let mut at = 0;
        while at < bytes.len() {
            client.blocked &= !client.is_drained();
            if !client.can_continue() {
                client.paused = true;
                break;
            }
            count += 1;
            if count % CLOCK_CHECK_INTERVAL == 0 && self.upstream.io.clock() > began + SLICE {
                // Other clients are handled first; this one continues in the next round.
                client.paused = true;
                client.resuming = true;
                self.clients.yielded.push(id);
                break;
            }
            match parser.parse(&bytes[at..], &limits) {
                Ok(Some(len)) => {
                    let args = parser.args(&bytes[at..at + len]);
                    if !args.is_empty() && self.upstream.dispatch(id, client, &args) == Flow::Defer {
                        client.paused = true;
                        break;
                    }
                    at += len;
                }
                Ok(None) => break,
                Err(error) => {
                    self.upstream.dbs[client.db].stats.failed(Failure::Protocol);
                    client.current_command = (UNKNOWN.index, false);
                    client.reply(Class::Other, |out| {
                        encode::error(
                            out,
                            &format!("ERR Protocol error: {}", error_text(error, is_unauthenticated)),
                        )
                    });
                    client.closing = true;
                    at = bytes.len();
                }
            }
        }
        if parser.is_midway() {
            client.parser = Some(own.unwrap_or_else(|| Box::new(std::mem::take(&mut shared))));
        }
        self.clients.parser = shared;
        at
    }

    fn after_intake(&mut self, id: Id) {
        self.clients.mark_dirty(id);
        if self.clients.arena.get(id).is_some_and(|client| client.closing) {
            self.set_interest(id, |interest| interest.read = false);
        }
    }
}
