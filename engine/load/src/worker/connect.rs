//! Connections: opening, preparing, losing and reopening them, and changes of the cluster topology.

use crate::connection::{Connection, State};
use crate::outage::Event;
use crate::request::Operation;
use crate::topology::NO_OWNER;
use crate::worker::{SECOND, Worker};
use net::arena::Id;
use net::poll::{Interest, Source};
use net::socket;
use net::stream::Stream;
use rustls::ClientConnection;
use std::io;
use std::sync::Arc;

const FIRST_PAUSE: u64 = 10_000_000;
const LONGEST_PAUSE: u64 = 100_000_000;
/// Maximum pause if `--reconnect-backoff-factor` is set.
const LONGEST_BACKOFF: u64 = 10 * SECOND;

impl Worker {
    /// Opens a connection of each client to each server that owns slots.
    pub fn open_all(&mut self) {
        for seat in 0..self.active() {
            for target in 0..self.topology.targets.len() as u16 {
                if self.topology.owns(target) {
                    self.connection_to(seat, target);
                }
            }
        }
        let now = self.shared.now();
        self.fire_timers(now);
    }

    pub fn open(&mut self, id: Id) {
        let deadline = self.connect_deadline();
        let Some(connection) = self.connections.get_mut(id) else { return };
        let address = self.topology.targets[usize::from(connection.target)];
        connection.attempts += 1;
        let fd = socket::connect(address, self.shared.options.unix_socket.as_deref());
        let opened = fd.and_then(|fd| match &self.shared.tls {
            None => Ok(Stream::plain(fd)),
            Some((config, name)) => ClientConnection::new(Arc::clone(config), name.clone())
                .map(|session| Stream::tls(fd, session))
                .map_err(io::Error::other),
        });
        let interest = Interest { read: true, write: true, hangup: false };
        let watched = opened.and_then(|stream| {
            self.poll.add(stream.fd(), Source::Backend(id), interest)?;
            Ok(stream)
        });
        match watched {
            Ok(stream) => {
                connection.stream = Some(stream);
                connection.interest = interest;
                connection.state = State::Connecting { deadline };
            }
            Err(_) => self.handle_loss(id, "CONNECT"),
        }
    }

    fn connect_deadline(&self) -> u64 {
        match self.shared.options.connection_timeout {
            0 => u64::MAX,
            seconds => self.shared.now() + seconds * SECOND,
        }
    }

    /// Closes a connection without pending requests. It is reopened immediately.
    pub fn close(&mut self, id: Id, connection: &mut Connection) {
        if let Some(mut stream) = connection.stream.take() {
            stream.send_close_notify();
            self.poll.remove(stream.fd());
        }
        connection.served = 0;
        connection.input.clear();
        connection.scanner = resp::ReplyScanner::default();
        connection.state = State::Down { retry_at: 0 };
        self.set_timer(0, id);
    }

    /// Handles the result of the kernel's connection attempt.
    pub fn connected(&mut self, connection: &mut Connection) -> io::Result<()> {
        let Some(stream) = &connection.stream else { return Ok(()) };
        socket::outcome(stream.fd())?;
        let (bytes, left) = &self.shared.greeting;
        connection.out.extend_from_slice(bytes);
        connection.state = match left {
            0 => State::Ready,
            &left => State::Greeting { left, deadline: self.connect_deadline() },
        };
        if *left == 0 {
            connection.attempts = 0;
        }
        Ok(())
    }

    pub fn greeted(&mut self, reply: &[u8], now: u64, connection: &mut Connection) -> io::Result<()> {
        if reply[0] == b'-' {
            let text = resp::text(reply).unwrap_or_default();
            let word = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
            let kind = String::from_utf8_lossy(word).into_owned();
            let group = self.target_groups[usize::from(connection.target)];
            self.accounts[usize::from(group)].record_event(now, Event::Error(kind, 1));
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let State::Greeting { left, .. } = &mut connection.state {
            *left -= 1;
            if *left == 0 {
                connection.state = State::Ready;
                connection.attempts = 0;
            }
        }
        Ok(())
    }

    /// Handles the loss of a connection. Requests sent on it may or may not have been executed.
    /// Requests not sent yet are sent later.
    pub fn handle_loss(&mut self, id: Id, kind: &str) {
        let Some(mut connection) = self.connections.take(id) else { return };
        let now = self.shared.now();
        self.tally.connection_errors += 1;
        let was_ready = connection.is_ready();
        let kind = if was_ready || kind == "TIMEOUT" { kind } else { "CONNECT" };
        if let Some(stream) = connection.stream.take() {
            self.poll.remove(stream.fd());
        }
        let group = usize::from(self.target_groups[usize::from(connection.target)]);
        self.accounts[group].record_event(now, Event::Error(kind.into(), 1));
        self.fail_in_flight(&mut connection, kind);
        if was_ready {
            connection.down_since = now;
        }
        let pause = self.pause(connection.attempts);
        connection.served = 0;
        connection.state = State::Down { retry_at: now + pause };
        connection.out.clear();
        connection.written = 0;
        connection.input.clear();
        connection.scanner = resp::ReplyScanner::default();
        let (target, seat, attempts) = (connection.target, connection.client, connection.attempts);
        self.connections.put_back(id, connection);
        if !self.is_exhausted(attempts) {
            self.set_timer(now + pause, id);
        }
        if self.seats[seat].held.is_some() {
            // The client no longer has to wait for this connection.
            self.seats[seat].connections.clone().into_iter().for_each(|id| self.touch(id));
        }
        self.suspect(target);
    }

    /// Returns the pause before the next connection attempt.
    fn pause(&self, attempts: u32) -> u64 {
        let factor = self.shared.options.reconnect_backoff_factor;
        match attempts {
            0 => 0,
            _ if factor > 1.0 => {
                (FIRST_PAUSE as f64 * factor.powf(f64::from(attempts))).min(LONGEST_BACKOFF as f64) as u64
            }
            _ => (FIRST_PAUSE << attempts.min(8)).min(LONGEST_PAUSE),
        }
    }

    fn is_exhausted(&self, attempts: u32) -> bool {
        let allowed = self.shared.options.max_reconnect_attempts;
        allowed != 0 && attempts > allowed
    }

    /// Counts the requests in flight as lost.
    fn fail_in_flight(&mut self, connection: &mut Connection, kind: &str) {
        let now = self.shared.now();
        let lost = std::mem::take(&mut connection.in_flight);
        connection.unsent_count = 0;
        self.in_flight -= lost.len() as u64;
        for operation in lost {
            let group = self.group_of(&operation);
            self.accounts[usize::from(group)].record_event(now, Event::Lost(1));
            let again = Operation { asking: false, ..operation };
            self.fail_or_retry(again, connection.client, kind);
        }
    }

    /// Closes a connection to a server that no longer owns slots. Its queued requests go to the new
    /// owners.
    pub fn retire(&mut self, id: Id) {
        let Some(mut connection) = self.connections.remove(id) else { return };
        if let Some(stream) = connection.stream.take() {
            self.poll.remove(stream.fd());
        }
        self.fail_in_flight(&mut connection, "RESET");
        if let Some(place) = self.seats[connection.client].connections.get_mut(usize::from(connection.target))
        {
            *place = net::arena::Id::NONE;
        }
        self.queued -= connection.queue.len() as u64;
        for operation in connection.queue {
            let there = self.connection_for(connection.client, &operation);
            self.enqueue(connection.client, there, operation);
        }
    }

    /// Applies the topology that `discovery` found, and moves queued requests to the owners of their
    /// keys.
    pub fn apply_topology(&mut self) {
        self.version = self.shared.version();
        let found = self.shared.topology();
        let numbers: Vec<u16> = found.targets.iter().map(|address| self.topology.intern(*address)).collect();
        for (mine, theirs) in self.topology.slots.iter_mut().zip(&found.slots) {
            if *theirs != NO_OWNER {
                *mine = numbers[usize::from(*theirs)];
            }
        }
        self.group_targets();
        for id in self.connections.ids() {
            let Some(connection) = self.connections.get_mut(id) else { continue };
            if connection.queue.is_empty() || self.topology.owns(connection.target) {
                continue;
            }
            let seat = connection.client;
            let waiting = std::mem::take(&mut connection.queue);
            self.queued -= waiting.len() as u64;
            for operation in waiting {
                let there = self.connection_for(seat, &operation);
                self.enqueue(seat, there, operation);
            }
        }
        for seat in 0..self.active() {
            for &target in &numbers {
                if self.topology.owns(target) {
                    self.connection_to(seat, target);
                }
            }
        }
    }

    /// Assigns the failures of each target to the account of a slot that it owns.
    pub fn group_targets(&mut self) {
        let known = self.target_groups.len();
        self.target_groups.resize(self.topology.targets.len(), 0);
        let mut seen = vec![false; self.topology.targets.len()];
        for (slot, &owner) in self.topology.slots.iter().enumerate() {
            if owner != NO_OWNER && !std::mem::replace(&mut seen[usize::from(owner)], true) {
                self.target_groups[usize::from(owner)] = self.shared.groups[slot];
            }
        }
        debug_assert!(known <= self.target_groups.len());
    }
}
