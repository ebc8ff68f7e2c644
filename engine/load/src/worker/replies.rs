//! Bytes -> replies -> results of the requests.

use crate::connection::{Connection, State};
use crate::discovery::Hint;
use crate::outage::Event;
use crate::request::{AccessKind, Operation};
use crate::tally::Row;
use crate::topology;
use crate::worker::Worker;
use net::arena::Id;
use net::poll::Ready;
use std::io;

/// A request that is redirected more often than this fails.
const MAX_REDIRECTIONS: u8 = 16;

/// Errors of a shard that cannot serve the request now but may be able to later.
const TRANSIENT: [&[u8]; 8] =
    [b"MOVED", b"ASK", b"CLUSTERDOWN", b"READONLY", b"LOADING", b"MASTERDOWN", b"TRYAGAIN", b"BUSY"];

impl Worker {
    pub fn on_ready(&mut self, id: Id, event: &Ready) {
        let Some(mut connection) = self.connections.take(id) else { return };
        let outcome = self.serve(id, &mut connection, event);
        self.connections.put_back(id, connection);
        match outcome {
            Ok(()) => self.touch(id),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.handle_loss(id, "PROTOCOL"),
            Err(_) => self.handle_loss(id, "RESET"),
        }
    }

    fn serve(&mut self, id: Id, connection: &mut Connection, event: &Ready) -> io::Result<()> {
        if matches!(connection.state, State::Connecting { .. }) {
            if !event.write && !event.broken {
                return Ok(());
            }
            self.connected(connection)?;
        }
        if event.read || event.broken {
            self.receive(id, connection)?;
        }
        Ok(())
    }

    /// Reads until no data is available, or until other connections must have their turn.
    fn receive(&mut self, id: Id, connection: &mut Connection) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = self.receive_into(&mut buffer, id, connection);
        self.buffer = buffer;
        outcome
    }

    fn receive_into(&mut self, buffer: &mut [u8], id: Id, connection: &mut Connection) -> io::Result<()> {
        for _ in 0..4 {
            let Some(stream) = &mut connection.stream else { return Ok(()) };
            let count = match stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let now = self.shared.now();
            if connection.input.is_empty() {
                let used = self.parse(&buffer[..count], now, id, connection)?;
                connection.input.extend_from_slice(&buffer[used..count]);
            } else {
                connection.input.extend_from_slice(&buffer[..count]);
                let input = std::mem::take(&mut connection.input);
                let used = self.parse(&input, now, id, connection)?;
                connection.input = input;
                connection.input.drain(..used);
            }
            if count < buffer.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Handles all complete replies. Returns the number of bytes that they occupy.
    fn parse(&mut self, bytes: &[u8], now: u64, id: Id, connection: &mut Connection) -> io::Result<usize> {
        let mut at = 0;
        while at < bytes.len() {
            let found = connection.scanner.scan(&bytes[at..]);
            let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            let Some(length) = found.map_err(invalid)? else { break };
            self.on_reply(&bytes[at..at + length], now, id, connection)?;
            at += length;
        }
        Ok(at)
    }

    #[inline]
    fn on_reply(&mut self, reply: &[u8], now: u64, id: Id, connection: &mut Connection) -> io::Result<()> {
        if let State::Greeting { .. } = connection.state {
            return self.greeted(reply, now, connection);
        }
        if let Some(operation) = connection.in_flight.front_mut().filter(|operation| operation.asking) {
            // This is the reply to ASKING.
            operation.asking = false;
            return Ok(());
        }
        let Some(operation) = connection.in_flight.pop_front() else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a reply without a request"));
        };
        self.in_flight -= 1;
        if reply[0] == b'-' || reply[0] == b'!' {
            self.on_error(reply, now, id, connection.client, connection.target, operation);
        } else if self.is_mismatch(reply, &operation) {
            self.on_mismatch(reply, now, &operation);
        } else {
            self.on_success(reply, now, connection.client, &operation);
        }
        Ok(())
    }

    /// Returns whether the reply is a value that differs from the one derived from the key.
    #[inline]
    fn is_mismatch(&mut self, reply: &[u8], operation: &Operation) -> bool {
        let Some(derived) = &self.values.derived else { return false };
        if self.writer.template(operation.template).meaning != AccessKind::Read {
            return false;
        }
        // A null reply is a miss.
        resp::text(reply).is_some_and(|value| {
            !self.shared.options.is_value_size(value.len(), operation.size as usize)
                || !derived.matches(self.writer.key(operation.key), value)
        })
    }

    /// Counts a wrong value as an error. The shard has replied, so it is not unavailable.
    #[cold]
    fn on_mismatch(&mut self, reply: &[u8], now: u64, operation: &Operation) {
        let group = self.group_of(operation);
        let row = &mut self.tally.rows[self.shared.workload.rows[usize::from(operation.template)]];
        row.errors += 1;
        row.received += reply.len() as u64;
        self.tally.mismatched(self.writer.key(operation.key));
        self.last_good = now;
        self.accounts[usize::from(group)].good(now, operation.sent);
    }

    #[inline]
    fn on_success(&mut self, reply: &[u8], now: u64, seat: usize, operation: &Operation) {
        let group = self.group_of(operation);
        let row = &mut self.tally.rows[self.shared.workload.rows[usize::from(operation.template)]];
        row.good += 1;
        row.received += reply.len() as u64;
        Row::record(&mut row.service, now.saturating_sub(operation.sent));
        let mut began = operation.sent;
        if operation.intended != 0 {
            began = operation.intended;
            Row::record(&mut row.response, now.saturating_sub(began));
        }
        self.seats[seat].statistics.record(now.saturating_sub(began));
        if self.writer.template(operation.template).meaning == AccessKind::Read {
            // Null in either protocol version, or an empty aggregate.
            let is_null = reply[0] == b'_'
                || reply.starts_with(b"$-")
                || matches!(reply, b"*-1\r\n" | b"*0\r\n" | b"%0\r\n" | b"~0\r\n");
            *(if is_null { &mut row.misses } else { &mut row.hits }) += 1;
        }
        self.last_good = now;
        self.accounts[usize::from(group)].good(now, operation.sent);
    }

    #[cold]
    fn on_error(
        &mut self,
        reply: &[u8],
        now: u64,
        id: Id,
        seat: usize,
        target: u16,
        mut operation: Operation,
    ) {
        let row = self.shared.workload.rows[usize::from(operation.template)];
        self.tally.rows[row].received += reply.len() as u64;
        let text = resp::text(reply).unwrap_or_default();
        let word = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        let asked = self.topology.targets[usize::from(target)].ip();
        let moved = word == b"MOVED";
        if moved || word == b"ASK" {
            let count = &mut self.tally.rows[row];
            *(if moved { &mut count.moved } else { &mut count.ask }) += 1;
            let there = topology::redirection(text, asked).filter(|_| self.shared.options.cluster);
            if let Some((slot, address)) = there.filter(|_| operation.redirections < MAX_REDIRECTIONS) {
                let owner = self.topology.intern(address);
                self.group_targets();
                if moved && self.topology.slots[usize::from(slot)] != owner {
                    self.topology.slots[usize::from(slot)] = owner;
                    let _ = self.hints.send(Hint::Moved(address));
                }
                operation.redirections += 1;
                operation.asking = !moved;
                let group = self.group_of(&operation);
                self.accounts[usize::from(group)].record_event(now, Event::Retried(1));
                let there = self.connection_to(seat, owner);
                if there != id {
                    self.enqueue_first(seat, there, operation);
                    return;
                }
            }
        }
        let kind = String::from_utf8_lossy(word).into_owned();
        if matches!(word, b"CLUSTERDOWN" | b"READONLY" | b"LOADING" | b"MASTERDOWN") {
            self.suspect(target);
        }
        if TRANSIENT.contains(&word) {
            self.fail_or_retry(operation, seat, &kind);
        } else {
            self.fail(&operation, &kind);
        }
    }
}
